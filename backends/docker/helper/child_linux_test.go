package helper

import (
	"os"
	"os/exec"
)

// childTest runs one test in a process of its own, as init is started: with one processor.
func childTest(self, name string) ([]byte, error) {
	cmd := exec.Command(self, "-test.run", "^"+name+"$")
	cmd.Env = append(os.Environ(), "TOOLCELL_TEST_THREADS=1", "GOMAXPROCS=1")
	return cmd.CombinedOutput()
}
