package native

import (
	"os"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// sealProgram puts the program where init finds it.
func (k *call) sealProgram() error {
	k.chooseProgram()
	return k.seal()
}

func (k *call) seal() error {
	data, err := plan.Encode(k.program)
	if err != nil {
		return k.setup("encode the program", err)
	}
	if k.sealed, err = sealed(data); err != nil {
		return k.setup("seal the program", err)
	}
	k.files[1] = k.sealed
	return nil
}

// chooseProgram works out what is executed, and with which environment.
func (k *call) chooseProgram() {
	env := environment(k.spec.Identity, k.image, k.profile, k.command)
	argv := k.command.Argv
	if exe, ok := k.interpreters.exe[argv[0]]; ok {
		argv = append([]string{exe}, argv[1:]...) // as the shim would have started it
	}
	path, _ := lookup(env, "PATH")
	k.program = plan.Program{Paths: rootfs.Candidates(argv[0], path), Argv: argv, Env: env}
}

// rlimitSlack is how many seconds a single process may use beyond the call's CPU time. The rlimit is the second lock:
// without a cgroup, for what adding up the tree does not see; in a direct call, for when its caller is stopped.
const rlimitSlack = 2

// placeFiles puts the descriptors that come with the request in order.
func (k *call) placeFiles() {
	k.files = []*os.File{nil, nil}
	watched := k.group != nil && k.group.CPUUsage() != nil
	if watched {
		k.request.Flags |= wire.FlagCPUFile
		k.files = append(k.files, k.group.CPUUsage())
	}
	if !watched || k.b.lanes.direct != nil {
		k.spec.Limits.CPUSeconds = uint64(k.profile.Limits.CPUSeconds) + rlimitSlack
	}
	if k.group != nil && k.group.OOMEvent() != nil {
		k.request.Flags |= wire.FlagOOMEvent
		k.files = append(k.files, k.group.OOMEvent())
	}
	if root := k.preparedRoot(); root != nil {
		k.request.Flags |= wire.FlagRoot
		k.files = append(k.files, root)
		k.spec.Prepared = true
	}
	if k.group != nil && k.group.Into() != nil {
		k.request.Flags |= wire.FlagCgroup
		k.files = append(k.files, k.group.Into())
	}
	next := plan.FirstFD
	add := func(f *os.File) int {
		k.files = append(k.files, f)
		next++
		return next - 1
	}
	if k.group != nil {
		for _, f := range k.group.Procs() {
			k.spec.FDs.Cgroups = append(k.spec.FDs.Cgroups, add(f))
		}
	}
	k.placeStreams(add)
	if h := k.hook(); h != nil {
		k.spec.FDs.Hook = add(h.theirs)
	}
	for _, s := range k.sources {
		fd := 0
		if s.tree != nil {
			fd = add(s.tree)
		}
		k.spec.Mounts = append(k.spec.Mounts, s.confineMount(fd))
	}
	if d := k.b.lanes.direct; d != nil && d.process.memfdSysctl != nil {
		k.spec.FDs.MemfdNoexec = add(d.process.memfdSysctl)
	}
}

// placeStreams has add place the sandbox's ends of the pipes. An armed sandbox gets its streams later.
func (k *call) placeStreams(add func(*os.File) int) {
	fds, theirs := &k.spec.FDs, k.theirs
	switch {
	case k.armed == nil || k.armed.hook != nil:
	case k.armed.kind.input:
		fds.Stdin = confine.Received().Stdin
		return
	default:
		return
	}
	if k.stdin != nil {
		fds.Stdin, theirs = add(theirs[0]), theirs[1:]
	}
	fds.Stdout, fds.Stderr = add(theirs[0]), add(theirs[1])
}
