//go:build !linux && !darwin && !windows

package docker

// startTime is unknown here, so nothing is ever taken for an orphan.
func startTime(int) (start string, known bool) { return "", false }
