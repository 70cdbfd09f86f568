// Package shipped builds the programs that are shipped, the way they are shipped, for tests that run them from outside.
//
// It checks nothing of them, and protects nothing: it is for tests alone.
package shipped

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/soulacy/toolcell/test/need"
)

const module = "github.com/soulacy/toolcell"

// Programs are programs in a directory of their own. The zero value has none; Main builds them.
type Programs struct{ dir string }

// Main builds packages, which are named from the module's root, runs the tests of m, removes what it built, and returns the
// exit code. It is for TestMain.
func (p *Programs) Main(m *testing.M, packages ...string) int {
	code := 1
	err := p.build(packages)
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(p.dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// build makes static programs.
func (p *Programs) build(packages []string) (err error) {
	if p.dir, err = os.MkdirTemp("", "toolcell-shipped-"); err != nil {
		return err
	}
	if err := os.Chmod(p.dir, 0o755); err != nil { // tests run them as another user, too
		return err
	}
	args := []string{"build", "-o", p.dir}
	for _, name := range packages {
		args = append(args, path.Join(module, name))
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %q: %w\n%s", packages, err, out)
	}
	return nil
}

// Dir is the directory of the programs.
func (p *Programs) Dir() string { return p.dir }

// Toolcell is the path of the command.
func (p *Programs) Toolcell() string { return filepath.Join(p.dir, "toolcell") }

// SearchPath is a PATH on which the programs come before everything else of that name.
func (p *Programs) SearchPath() string {
	return p.dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// RequireNative ends t where the native backend, which Linux alone has, cannot enforce the profile; see [need.Missing].
func (p *Programs) RequireNative(t testing.TB) {
	t.Helper()
	out, err := exec.Command(p.Toolcell(), "version").CombinedOutput()
	if err != nil && runtime.GOOS != "linux" {
		t.Skip("the native backend is for Linux")
	}
	need.NoError(t, err, "the native backend cannot enforce the profile here: "+string(out))
}
