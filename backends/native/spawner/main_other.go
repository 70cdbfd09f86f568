//go:build !linux

package spawner

// Main returns: there is no spawner on this operating system.
func Main() {}

// Callable reports that this program cannot be its own spawner.
func Callable() bool { return false }
