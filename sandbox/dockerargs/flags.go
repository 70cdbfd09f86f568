package dockerargs

import (
	"slices"

	"github.com/soulacy/toolcell/sandbox"
)

// Flag describes one flag for help texts and completion.
type Flag struct {
	// Name is the long name without dashes, Short the letter of its short form or "".
	Name, Short string
	// Arg names the value, or is "" for a switch.
	Arg string
	// Usage is one line.
	Usage string
	// Own is set for the flags that docker run does not have.
	Own bool
}

type flag struct {
	Flag
	set setter
}

// setter stores a value; spelled is the flag as the caller wrote it, for errors.
type setter func(s *state, spelled, value string) error

// Flags returns the flags that this parser takes, docker's first.
func (p Parser) Flags() []Flag {
	var out []Flag
	for _, f := range p.flags() {
		out = append(out, f.Flag)
	}
	return out
}

func (p Parser) flags() []flag {
	t := slices.Concat(confinementFlags(), limitFlags(), callFlags(), ownFlags())
	for _, sw := range p.Switches {
		t = append(t, sw.flag())
	}
	return t
}

func (sw Switch) flag() flag {
	set := onlyTrue("leave it out", func(*state) { *sw.Value = true })
	if sw.Text != nil {
		set = text(func(*state) *string { return sw.Text })
	}
	return flag{Flag{sw.Name, "", sw.Arg, sw.Usage, true}, set}
}

func confinementFlags() []flag {
	return []flag{
		{Flag{"network", "", "none", "the only network there is", false}, setNetwork},
		{Flag{"read-only", "", "", "a root that cannot be changed (always)", false}, always(sandbox.FSReadonlyRoot)},
		{Flag{"user", "u", "UID:GID", "numeric ids inside, never 0 (default auto)", false}, setUser},
		{Flag{"cap-drop", "", "ALL", "drop every capability (always)", false}, setCapDrop},
		{Flag{"security-opt", "", "no-new-privileges", "setuid gives nothing (always)", false}, setSecurityOpt},
		{Flag{"ipc", "", "private", "an IPC namespace of its own (always)", false}, only("private", sandbox.IPCIsolated)},
		{Flag{"cgroupns", "", "private", "a cgroup namespace of its own (always)", false}, only("private", sandbox.ProcIsolated)},
		{Flag{"volume", "v", "SOURCE:TARGET[:ro|rw]", "mount a host path", false}, setVolume},
		{Flag{"mount", "", "type=bind,source=…,…", "the same for any path: source, target, readonly", false}, setMount},
		{Flag{"tmpfs", "", "/tmp[:size=64m,…]", "the scratch and its size", false}, setTmpfs},
		{Flag{"shm-size", "", "SIZE", "size of /dev/shm (default 64m)", false}, setShm},
		{Flag{"runtime", "", "NAME", "an engine's runtime; toolcell is the native one", false}, setRuntime},
	}
}

func limitFlags() []flag {
	return []flag{
		{Flag{"memory", "m", "SIZE", "memory of the whole tree (default 512m)", false}, setMemory},
		{Flag{"memory-swap", "", "SIZE", "the same value as --memory: no swap", false}, setSwap},
		{Flag{"cpus", "", "N", "cores at a time (default 1)", false}, setCPUs},
		{Flag{"pids-limit", "", "N", "processes and threads (default 128)", false}, setPIDs},
		{Flag{"ulimit", "", "NAME=N[:N]", "nofile, fsize (bytes), cpu (seconds) or core (0 or 1)", false}, setUlimit},
	}
}

func callFlags() []flag {
	return []flag{
		{Flag{"rm", "", "", "remove what is left (always)", false}, always(sandbox.LifeNoSurvivors)},
		{Flag{"interactive", "i", "", "pass standard input on; without it the program's is empty", false}, setStdin},
		{Flag{"init", "", "", "a process that reaps (always)", false}, always(sandbox.LifeNoSurvivors)},
		{Flag{"workdir", "w", "DIR", "working directory inside (default /tmp)", false}, setWorkdir},
		{Flag{"env", "e", "NAME[=VALUE]", "an environment variable; without a value, the caller's", false}, setEnv},
		{Flag{"env-file", "", "FILE", "environment variables, one a line", false}, setEnvFile},
		{Flag{"name", "", "NAME", "the call's name", false}, setName},
		{Flag{"label", "l", "KEY[=VALUE]", "accepted; changes nothing", false}, setLabel},
		{Flag{"hostname", "h", Hostname, "the only host name there is", false}, only(Hostname, "")},
		{Flag{"pull", "", "never", "nothing is fetched inside a call (always)", false}, only("never", "")},
		{Flag{"log-driver", "", "none", "output goes to the caller alone (always)", false}, only("none", "")},
	}
}

func ownFlags() []flag {
	return []flag{
		{Flag{"backend", "", "NAME", "what confines (default native)", true}, text(func(s *state) *string { return &s.inv.Backend })},
		{Flag{"config", "", "FILE", "the operator's file with images and waivers", true}, text(func(s *state) *string { return &s.inv.Config })},
		{Flag{"timeout", "", "DURATION", "wall-clock limit (default 60s)", true}, setTimeout},
		{Flag{"cpu-time", "", "DURATION", "CPU time of the whole tree (default 30s)", true}, setCPUTime},
		{Flag{"output-limit", "", "SIZE", "output kept of each stream (default 1m)", true}, setOutput},
		{Flag{"interpreter", "", "PATH", "a host interpreter outside the image, mounted read-only", true}, setInterpreter},
		{Flag{"require", "", "GUARANTEE", "refuse unless this guarantee holds too", true}, setRequire},
		{Flag{"json", "", "", "print the result as JSON", true}, setJSON},
	}
}
