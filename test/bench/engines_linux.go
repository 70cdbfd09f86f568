package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/soulacy/toolcell/test/engines"
)

// execContainer is the container of docker exec.
const execContainer = "toolcell-bench-exec"

// engineSet are the engines of one run of the benchmark, with data and sockets of their own. The zero value has none.
type engineSet struct {
	pool    engines.Pool
	running map[engines.Kind]*engines.Engine
	failed  map[engines.Kind]error
	image   string
}

// start starts the engines, gives each the image, and has a container stand by for docker exec. What fails is said of each
// way that needs it.
func (s *engineSet) start() error {
	// Whoever asks for the benchmark asks for the engines.
	if err := os.Setenv(engines.Switch, "1"); err != nil {
		return fmt.Errorf("switch the engines on: %w", err)
	}
	s.running, s.failed = map[engines.Kind]*engines.Engine{}, map[engines.Kind]error{}
	for _, k := range []engines.Kind{engines.Docker, engines.Podman} {
		err := asTest(func(t testing.TB) {
			e := s.pool.Start(t, k)
			s.image = e.Load(t, engines.Languages())
			s.running[k] = e
		})
		if err != nil {
			s.failed[k] = err
			delete(s.running, k)
		}
	}
	if d := s.running[engines.Docker]; d != nil {
		argv := []string{"run", "--detach", "--rm", "--init", "--network", "none", "--name", execContainer, s.image, "/bin/sleep", "86400"}
		if out, err := d.Command(context.Background(), argv...).CombinedOutput(); err != nil {
			return fmt.Errorf("start a container for docker exec: %w: %s", err, out)
		}
	}
	return nil
}

// stop stops the engines and removes what they made.
func (s *engineSet) stop() error {
	var errs []error
	if d := s.running[engines.Docker]; d != nil {
		out, err := d.Command(context.Background(), "rm", "--force", execContainer).CombinedOutput()
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the container of docker exec: %w: %s", err, out))
		}
	}
	for _, e := range s.running {
		errs = append(errs, awaitEmpty(e))
	}
	return errors.Join(append(errs, s.pool.Stop())...)
}

// awaitEmpty waits until an engine has removed the containers of clients that have already answered.
func awaitEmpty(e *engines.Engine) error {
	const most = 15 * time.Second
	for deadline := time.Now().Add(most); time.Now().Before(deadline); time.Sleep(slowPause) {
		out, err := e.Command(context.Background(), "ps", "--all", "--quiet").Output()
		if err != nil {
			return fmt.Errorf("list the containers of %s: %w", e.Kind, err)
		}
		if len(strings.TrimSpace(string(out))) == 0 {
			return nil
		}
	}
	return nil // stopping the engine removes them, and says which
}

// engineWay is a way to run a program by an engine.
type engineWay struct {
	name   string
	engine engines.Kind
	// args come before the program; "" stands for the image.
	args []string
}

func engineWays() []engineWay {
	run := []string{"run", "--rm", "--network", "none"}
	return []engineWay{
		{nameDocker, engines.Docker, append(run[:len(run):len(run)], "")},
		{nameExec, engines.Docker, []string{"exec", execContainer}},
		{nameDockerGV, engines.Docker, append(run[:len(run):len(run)], "--runtime", engines.RunscRuntime, "")},
		// podman asks for the highest limits that it knows, which a root without CAP_SYS_RESOURCE does not get.
		{namePodman, engines.Podman, append(run[:len(run):len(run)], "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "")},
	}
}

// subject runs the program by the engine.
func (s *engineSet) subject(w engineWay, p program) (subject, error) {
	out := subject{name: w.name, peer: true, slow: true}
	e := s.running[w.engine]
	if e == nil {
		return out, s.why(w.engine)
	}
	var args []string
	for _, a := range w.args {
		if a == "" {
			a = s.image
		}
		args = append(args, a)
	}
	args = append(args, p.argv...)
	out.run = func() (time.Duration, error) {
		return capture(e.Command(context.Background(), args...), p)
	}
	return out, nil
}

var errNotStarted = errors.New("not started")

func (s *engineSet) why(k engines.Kind) error {
	if err := s.failed[k]; err != nil {
		return err
	}
	return errNotStarted
}
