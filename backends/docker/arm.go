package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/soulacy/toolcell/backends/internal/armory"
	"github.com/soulacy/toolcell/sandbox"
)

var _ sandbox.Armer = (*Backend)(nil)

const (
	// armedIdle is after how long without a call what stands ready is given up, armedLife how old it may become, and
	// armedLook how often that is looked after.
	armedIdle = time.Minute
	armedLife = 5 * time.Minute
	armedLook = 2 * time.Second
	// refillPause is how long after a call took one the next is made. Making one costs the machine more than most calls.
	refillPause = 100 * time.Millisecond
	// maxArmed bounds what stands ready: each is a container with a process of the engine's or two beside it, and a client.
	maxArmed = 16
	// armTimeout bounds what is made at a time in the background, and armRetry is the pause after a failure.
	armTimeout = 2 * createTimeout
	armRetry   = 5 * time.Second
)

func (b *Backend) armingRules() armory.Rules {
	return armory.Rules{
		Most: maxArmed, Idle: armedIdle, Life: armedLife, Look: armedLook, Pause: refillPause, Patience: armTimeout, Retry: armRetry,
		Failed: func(err error) { b.log.Warn("a container could not be made ahead", "error", err) },
	}
}

// Arm has containers for calls under p stand ready; see [sandbox.Armer]. In each only init runs, and waits. Beside it wait
// the engine's own processes for a container, and its client, which holds init's input: at most 16 stand ready in a backend.
// Interpreters are not started ahead, which is an error that matches [sandbox.ErrInvalid].
//
// Calls under p find them whatever their directory, input, environment, time and output limit are. One that an engine would
// get another container for, since a mount's source or the image is another by now, finds none.
func (b *Backend) Arm(ctx context.Context, p sandbox.ContainerProfile, a sandbox.Arming) error {
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p = armedProfile(b.complete(p))
	if a.Count <= 0 {
		return b.armory.Cancel(ctx, armedKey(p))
	}
	if a.Count > maxArmed {
		return sandbox.Invalid("arm", "%d containers, more than %d", a.Count, maxArmed)
	}
	if a.Interpreter != sandbox.InterpreterNone {
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "arm", Cause: errors.New("container engines start no interpreter ahead of its program"), Fix: "arm without an interpreter",
		}
	}
	build := func(ctx context.Context) (*armed, error) { return b.arm(ctx, p) }
	return b.armory.Order(ctx, armedKey(p), armory.Order[*armed]{Count: a.Count, Once: a.Once, Build: build})
}

// ArmedStats count what [Backend.Arm] is worth.
type ArmedStats struct {
	// Ready is how many containers stand ready now.
	Ready int
	// Served is how many calls found one, Missed how many for which some were ordered found none.
	Served, Missed int
}

// ArmedStats returns the counts since the backend was opened.
func (b *Backend) ArmedStats() ArmedStats { return ArmedStats(b.armory.Stats()) }

// armedProfile is the part of a profile that a container is made by, and judged by. The rest is sent with each call.
func armedProfile(p sandbox.ContainerProfile) sandbox.ContainerProfile {
	p.Env, p.Workdir = nil, ""
	p.Limits.Wall, p.Limits.OutputKB = 0, 0
	return p.WithDefaults()
}

// armedKey tells the profiles of containers apart. Every string in it is quoted.
func armedKey(p sandbox.ContainerProfile) string {
	// A list without entries is one that is not there.
	p.Mounts, p.Interpreters = append([]string(nil), p.Mounts...), append([]string(nil), p.Interpreters...)
	p.Binds, p.Require = append([]sandbox.Mount(nil), p.Binds...), append([]sandbox.Guarantee(nil), p.Require...)
	return fmt.Sprintf("%#v", p)
}
