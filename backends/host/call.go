package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/soulacy/toolcell/backends/internal/capture"
	"github.com/soulacy/toolcell/sandbox"
)

// call is one Run.
type call struct {
	b       *Backend
	profile sandbox.ContainerProfile
	command sandbox.Command
	report  sandbox.Report
	timeout time.Duration

	stdout, stderr *capture.Stream
}

// newCall checks the call and says no to what the host cannot give.
func (b *Backend) newCall(p sandbox.ContainerProfile, c sandbox.Command) (*call, error) {
	p = p.WithDefaults()
	report := b.report(p)
	if err := checkProfile(p, report); err != nil {
		return nil, err
	}
	if err := checkCommand(p, c); err != nil {
		return nil, err
	}
	if c.ID == "" {
		c.ID = strings.ToLower(rand.Text()[:12])
	}
	return &call{b: b, profile: p, command: c, report: report, timeout: cmp.Or(c.Timeout, p.Limits.Wall)}, nil
}

// run starts the program and waits for its end.
func (k *call) run(ctx context.Context) (sandbox.Result, error) {
	begin := time.Now()
	limit := k.profile.Limits.OutputKB << 10
	k.stdout, k.stderr = capture.New(limit, k.command.Stdout), capture.New(limit, k.command.Stderr)
	end, err := k.execute(ctx)
	capture.Settle(ctx, err != nil || end.TimedOut || end.Canceled, k.stdout, k.stderr)
	if err != nil {
		return sandbox.Result{}, err
	}
	return k.result(end, time.Since(begin)), nil
}

// dir is the working directory, a path of this machine.
func (k *call) dir() string {
	dir := cmp.Or(k.command.Dir, k.profile.Workdir)
	if runtime.GOOS == "windows" && dir == sandbox.DefaultWorkdir {
		return os.TempDir()
	}
	return dir
}

// environment is the program's whole environment.
func (k *call) environment() []string {
	return merge(Filter(os.Environ(), nil), k.profile.Env, k.command.Env)
}

// settleGrace is how long an output may still come when every process that was found is dead.
const settleGrace = time.Second
