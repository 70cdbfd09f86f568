//go:build linux

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/soulacy/toolcell/backends/native/spawner"
)

// helperProgram is a copy of this test that other users may run: the helper of every scene, and its own spawner.
var helperProgram string

// TestMain makes this program a spawner, a helper, or the tests.
func TestMain(m *testing.M) {
	misbehave()
	spawner.Main()
	if path := os.Getenv(sceneVariable); path != "" {
		act(path)
	}
	os.Exit(tests(m))
}

func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toolcell-native-")
	if err == nil {
		defer os.RemoveAll(dir)
		helperProgram = filepath.Join(dir, "helper")
		err = copyExecutable("/proc/self/exe", helperProgram)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func copyExecutable(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		return err
	}
	return os.Chmod(to, 0o755)
}
