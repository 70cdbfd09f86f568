package main

// The names of toolcell's ways to run true, and of what they are measured against.
const (
	nameBare     = "bare start"
	nameCaptured = "bare start, output captured"
	nameCold     = "toolcell, cold"
	nameArmed    = "toolcell, armed"
	nameProcess  = "toolcell run (a process)"
	namePaced    = "toolcell, cold, with the pause of those"
	nameNewUser  = "os/exec with CLONE_NEWUSER"
	// nameEmptyGo is a process that does nothing, in the language of this one.
	nameEmptyGo = "an empty Go program"
)

// The names of its ways to run a snippet.
const (
	nameCode        = "toolcell run_code, cold"
	nameCodeArmed   = "toolcell run_code, armed interpreter"
	namePinned      = "toolcell run_code, armed and pinned"
	namePreloaded   = "toolcell run_code, armed and preloaded"
	nameCodeSandbox = "toolcell run_code, armed sandbox alone"
)

// The names of the peers.
const (
	nameBwrap    = "bwrap"
	nameUnshare  = "unshare"
	nameRunc     = "runc run"
	nameRunscDo  = "runsc do"
	nameDocker   = "docker run"
	nameDockerGV = "docker run, gVisor"
	nameExec     = "docker exec"
	namePodman   = "podman run"
	nameCodex    = "codex sandbox"
	nameSrt      = "srt (sandbox-runtime)"
)

// nameHeaps is all callers of the heap's table.
const nameHeaps = "callers with large heaps"

// The names of the figures of memory.
const (
	memoryOne    = "one armed sandbox, PSS"
	memoryPython = "one armed sandbox with python, PSS"
	memoryNode   = "one armed sandbox with node, PSS"
	memoryHost   = "memory of the host that 100 armed sandboxes take, each"
)
