package native

import (
	"log/slog"

	"github.com/soulacy/toolcell/sandbox"
)

// Name is the backend's name.
const Name = "native"

// Config configures the backend. The zero value is right for most programs.
type Config struct {
	// Spawner is the path of the spawner program (toolcell-init, or a program that calls spawner.Main first thing).
	// "" means: toolcell-init beside the executable, if there is one, else this very program, when it has called
	// spawner.Main.
	Spawner string
	// Images maps image names to "host" or to an unpacked root directory. "host" is always known.
	Images map[string]string
	// Protected lists host paths that no mount may show, such as the gateway's configuration.
	Protected []string
	// Waivers lists the guarantees that the operator agreed to run without.
	Waivers []sandbox.Waiver
	// IDBase is the first host id of the range that sandboxes of a root caller run under. 0 means 1879048192.
	IDBase uint32
	// IDCount is the length of that range. 0 means 1048576.
	IDCount uint32
	// CgroupParent is the cgroup directory, relative to each controller's mount, below which calls get theirs. "" means
	// the caller's own cgroup.
	CgroupParent string
	// StateDir holds the locks of a root caller's id ranges. "" means /run/toolcell.
	StateDir string
	// Once says that the backend is opened for a single call, as by a command: nothing is made ahead of a next one.
	Once bool
	// Lazy says that Open does not wait for the first spawner to be ready, so that a call can be prepared meanwhile. Why
	// there is none is then the first call's error, not Open's.
	Lazy bool
	// NamespacesAhead says that after a call those namespaces are made, once for each spawner, that need to know nothing of
	// the next one: the network's, which is the dearest, and two more. Each set is for one call, which waits for what is
	// left to do when it comes at once. It is worth it for calls with pauses between them, when no sandbox stands ready as
	// a whole ([Backend.Arm]).
	NamespacesAhead bool
	// Direct says that this process makes its calls itself where it can, which saves it the start of a spawner. It is for
	// a small process that makes one call and ends, as a command does: Open and Run must be called on its main thread,
	// which an init function has locked (runtime.LockOSThread). Where the cgroups need a spawner there is one all the
	// same. While such a process is stopped, a call's CPU time is bounded by RLIMIT_CPU and its deadline only.
	Direct bool
	// Logger receives what operators should know. nil means silence.
	Logger *slog.Logger
}
