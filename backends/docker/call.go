package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/seccomp"
)

// call is everything that one Run holds.
type call struct {
	b       *Backend
	engine  *engine
	profile sandbox.ContainerProfile
	command sandbox.Command
	report  sandbox.Report
	image   *image
	user    user
	box     container
}

// newCall does everything that comes before a container.
func (b *Backend) newCall(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (*call, error) {
	k := b.startCall(p, c)
	for _, step := range []func(context.Context) error{k.validate, k.judge, k.specify} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// startCall is newCall before anything has been looked at.
func (b *Backend) startCall(p sandbox.ContainerProfile, c sandbox.Command) *call {
	if c.ID == "" {
		c.ID = newCallID()
	}
	return &call{b: b, profile: b.complete(p), command: c}
}

// newCallID makes an id for a call without one.
func newCallID() string { return strings.ToLower(rand.Text()[:12]) }

// complete spells out a profile's defaults, the backend's own among them.
func (b *Backend) complete(p sandbox.ContainerProfile) sandbox.ContainerProfile {
	p = p.WithDefaults()
	p.Image = cmp.Or(p.Image, b.config.Image, DefaultImage)
	p.Runtime = cmp.Or(p.Runtime, b.config.Runtime)
	return p
}

// validate refuses what cannot be meant, or is not granted, before the engine is asked anything.
func (k *call) validate(context.Context) error {
	if err := k.b.checkProfile(k.profile); err != nil {
		return err
	}
	return k.command.ValidateFor(k.profile.Limits)
}

// leastMemoryMB is the least limit that engines take: docker's own minimum is 6 MiB.
const leastMemoryMB = 6

// checkProfile checks what depends on the profile and the configuration alone.
func (b *Backend) checkProfile(p sandbox.ContainerProfile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Limits.MemoryMB < leastMemoryMB {
		return sandbox.Invalid("memory limit (MiB)", "%d is less than a container can start in; the least is %d", p.Limits.MemoryMB, leastMemoryMB)
	}
	if len(p.Interpreters) > 0 {
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "interpreter", Cause: errors.New("a host's interpreter does not fit an image's libraries"),
			Fix: "use an image that has it, or the native backend",
		}
	}
	if p.Network != sandbox.NetworkNone && !slices.Contains(b.config.Networks, p.Network) {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "network", Guarantee: sandbox.NetNone, Cause: fmt.Errorf("the operator does not grant the network %q", p.Network),
			Fix: `use "none", or have the operator grant it in the configuration`,
		}
	}
	return nil
}

// judge asks the engine, unless it has answered, computes the report and refuses the call when something required is missing.
func (k *call) judge(ctx context.Context) error {
	if k.engine == nil {
		var err error
		if k.engine, err = k.b.engines.get(ctx, k.b.client); err != nil {
			return err
		}
	}
	k.report = k.b.report(k.profile, k.engine)
	return judge(k.profile, k.engine, k.report)
}

// judge refuses what the engine cannot keep. given are the guarantees that this kind of call gives up.
func judge(p sandbox.ContainerProfile, e *engine, r sandbox.Report, given ...sandbox.Guarantee) error {
	if !e.knows(p.Runtime) {
		return &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "runtime", Cause: fmt.Errorf("the engine has no runtime %q; it has %s", p.Runtime, strings.Join(e.runtimes, ", ")),
			Fix: "install the runtime and register it with the engine, or name one that it has",
		}
	}
	needed := slices.DeleteFunc(required(p), func(g sandbox.Guarantee) bool { return slices.Contains(given, g) })
	if err := r.Check("run", needed); err != nil {
		return err
	}
	// What the profile itself requires, no waiver gives up.
	return r.WithoutWaivers().Check("run", p.Require)
}

// specify decides what the container is made from.
func (k *call) specify(ctx context.Context) error {
	var err error
	if k.image, err = k.b.image(ctx, k.profile.Image); err != nil {
		return err
	}
	if k.user, err = k.b.user(k.profile, k.image); err != nil {
		return err
	}
	k.box, err = k.b.container(k.profile, k.engine, k.image, k.user)
	for _, e := range k.report {
		if !e.Enforced {
			k.box.absent = append(k.box.absent, e.Guarantee)
		}
	}
	return err
}

// container makes the value that a command line is made from.
func (b *Backend) container(p sandbox.ContainerProfile, e *engine, img *image, u user) (container, error) {
	c := container{
		dialect: e.dialect, rootless: e.rootless, local: e.local, image: p.Image, helper: b.helper,
		labels: b.owner.labels(), user: u.flag(),
	}
	var err error
	if c.seccomp, c.filter, err = b.files.filter(seccomp.Options{Inotify: p.Inotify}); err != nil {
		return c, err
	}
	if c.files, err = b.files.identity(u, p.Network); err != nil {
		return c, err
	}
	if p.Binds, err = b.resolveMounts(p, e, u); err != nil {
		return c, err
	}
	if e.local && !ownKernel(p.Runtime) {
		if c.places, err = places(p.Binds); err != nil {
			return c, err
		}
	}
	if c.volumes, err = img.overridden(p); err != nil {
		return c, err
	}
	p.Mounts, p.User = nil, u.flag()
	if u.image {
		c.user = img.Config.User
	}
	c.profile = p
	return c, nil
}

// request is the call as init reads it.
func (k *call) request() ([]byte, error) {
	p, c := k.profile, k.command
	call := &frame.Call{
		Argv: byteStrings(c.Argv), Env: byteStrings(k.environment()), Dir: []byte(cmp.Or(c.Dir, p.Workdir)), Scratch: scratchDirs(), Noexec: k.box.noexec(), Places: k.box.places,
		Stdin: c.Stdin != nil, OpenFiles: uint64(p.Limits.OpenFiles), FileBytes: uint64(p.Limits.FileSizeMB) << 20,
		RlimitCPU: uint64(p.Limits.CPUSeconds + cpuSlack), Timeout: k.timeout(), CPU: seconds(p.Limits.CPUSeconds),
		Tasks: helper.Tasks, Root: k.user.root, Keep: k.box.session,
	}
	data, err := frame.Encode(frame.Request, call)
	if err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "command", Cause: err}
	}
	return data, nil
}

// environment is the program's: the sandbox's own variables, then the image's, the profile's and the command's, the
// later winning. Nothing is taken from the caller.
func (k *call) environment() []string {
	var out []string
	at := map[string]int{}
	for _, list := range [][]string{ownEnvironment(), k.image.Config.Env, k.profile.Env, k.command.Env} {
		for _, e := range list {
			name, _, _ := strings.Cut(e, "=")
			if i, ok := at[name]; ok {
				out[i] = e
				continue
			}
			at[name] = len(out)
			out = append(out, e)
		}
	}
	return out
}

// defaultPath is the PATH of an image that sets none, as engines have it.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// scratch holds the directories below HOME that programs expect to find, as on the native backend.
func scratch() []struct{ variable, dir string } {
	return []struct{ variable, dir string }{
		{"HOME", ""}, {"XDG_CACHE_HOME", "/.cache"}, {"XDG_CONFIG_HOME", "/.config"}, {"", "/.local"},
		{"XDG_DATA_HOME", "/.local/share"}, {"XDG_STATE_HOME", "/.local/state"}, {"XDG_RUNTIME_DIR", "/.run"},
	}
}

func ownEnvironment() []string {
	env := []string{"PATH=" + defaultPath, "USER=" + account, "LOGNAME=" + account, "SHELL=/bin/sh", "LANG=C.UTF-8", "TMPDIR=/tmp"}
	for _, s := range scratch() {
		if s.variable != "" {
			env = append(env, s.variable+"="+sandbox.HomeDir+s.dir)
		}
	}
	return env
}

func scratchDirs() []string {
	var out []string
	for _, s := range scratch() {
		out = append(out, sandbox.HomeDir+s.dir)
	}
	return out
}

func byteStrings(list []string) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// helperOnHost is the program of the watchdog: init's, where this machine runs it, else this program.
func (b *Backend) helperOnHost() string {
	if hostIsLinux {
		return b.helper
	}
	if self, err := os.Executable(); err == nil && helper.Callable() {
		return self
	}
	return ""
}
