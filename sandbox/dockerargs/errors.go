package dockerargs

import (
	"errors"

	"github.com/soulacy/toolcell/sandbox"
)

// invalid returns an error about a flag that cannot be meant or cannot be kept.
func invalid(op, cause, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: errors.New(cause), Fix: fix}
}

// refused returns an error about a flag that asks for less than the hardened profile.
func refused(op string, g sandbox.Guarantee, cause, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Guarantee: g, Cause: errors.New(cause), Fix: fix}
}

// refusal says why a flag of docker run is not taken.
type refusal struct {
	guarantee sandbox.Guarantee
	cause     string
	fix       string
}

// refusedFlag returns the error for a flag that is not in the table.
func refusedFlag(spelled string) error {
	r := refusalOf(spelled)
	switch {
	case r.cause == "":
		return invalid(spelled, "this flag is not taken", "leave it out; --help lists the flags that are")
	case r.guarantee == "":
		return invalid(spelled, r.cause, r.fix)
	default:
		return refused(spelled, r.guarantee, r.cause, r.fix)
	}
}

// refusalOf knows docker's flags that people try, and their reasons.
func refusalOf(spelled string) refusal {
	switch spelled {
	case "--privileged", "--cap-add":
		return refusal{sandbox.PrivNoCapabilities, "a sandboxed program has no capability", "leave it out"}
	case "--device", "--device-cgroup-rule", "--device-read-bps", "--device-write-bps", "--gpus", "--cdi":
		return refusal{sandbox.FSNoHostFiles, "no device of the host is shown", "leave it out"}
	case "--pid":
		return refusal{sandbox.ProcIsolated, "every sandbox has a process namespace of its own", "leave it out"}
	case "--uts", "--userns", "--cgroup-parent", "--isolation":
		return refusal{sandbox.ProcIsolated, "namespaces and cgroups are the sandbox's own", "leave it out"}
	case "--net", "--net-alias", "--network-alias", "--dns", "--dns-option", "--dns-search", "--add-host", "--link",
		"--publish", "-p", "--publish-all", "-P", "--expose", "--ip", "--ip6", "--mac-address":
		return refusal{sandbox.NetNone, "a sandbox has no network", "use --network none or leave it out"}
	case "--volumes-from", "--volume-driver", "--storage-opt":
		return refusal{sandbox.FSNoHostFiles, "only declared host paths are mounted", "use -v SOURCE:TARGET or --mount type=bind"}
	case "--group-add":
		return refusal{sandbox.PrivNonroot, "a sandboxed program has one group", "use --user UID:GID"}
	case "--sysctl", "--oom-kill-disable", "--oom-score-adj", "--memory-swappiness":
		return refusal{sandbox.LimitMemory, "kernel settings are not a call's to change", "leave it out"}
	case "--cpu-shares", "-c", "--cpu-period", "--cpu-quota", "--cpuset-cpus", "--cpuset-mems", "--cpu-rt-period":
		return refusal{"", "this way of dividing CPUs is not offered", "use --cpus N"}
	case "--kernel-memory", "--memory-reservation":
		return refusal{"", "this way of limiting memory is not offered", "use --memory SIZE"}
	case "--tty", "-t":
		return refusal{"", "a sandbox has no terminal", "use -i alone"}
	case "--detach", "-d", "--restart", "--cidfile", "--attach", "-a", "--detach-keys", "--sig-proxy",
		"--stop-signal", "--stop-timeout":
		return refusal{"", "a sandbox lives as long as the command and no longer", "leave it out; use --timeout DURATION to bound it"}
	case "--entrypoint":
		return refusal{"", "an image's entry point is not used", "name the program after IMAGE"}
	case "--health-cmd", "--health-interval", "--health-retries", "--health-timeout", "--no-healthcheck":
		return refusal{"", "a sandbox has no health check", "leave it out"}
	case "--platform", "--disable-content-trust", "--quiet", "-q":
		return refusal{"", "nothing is fetched inside a call", "leave it out"}
	default:
		return refusal{}
	}
}
