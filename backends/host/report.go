package host

import (
	"fmt"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// report says of every guarantee that it is absent, and what there is in its place.
func (b *Backend) report(p sandbox.ContainerProfile) sandbox.Report {
	instead := map[sandbox.Guarantee]string{}
	list, err := b.rlimits(p).effective()
	for _, r := range list {
		text := fmt.Sprintf("%s = %d bounds one process, not all together", r.name, r.soft)
		if before := instead[r.guarantee]; before != "" {
			text = before + "; " + text
		}
		instead[r.guarantee] = text
	}
	if len(b.rlimits(p).Skipped()) > 0 {
		instead[sandbox.LimitMemory] = "this system does not keep RLIMIT_AS, so no memory limit is set"
	}
	if err != nil {
		instead[sandbox.LimitFiles] = "the limits cannot be read: " + err.Error()
	}
	var out sandbox.Report
	for _, g := range sandbox.Guarantees() {
		out = append(out, sandbox.Enforcement{
			Guarantee: g, Reason: reason(g, instead[g]),
			Fix: "run the call in a sandbox (native, docker, podman or nerdctl)",
		})
	}
	return out
}

// reason says why g is absent.
func reason(g sandbox.Guarantee, instead string) string {
	const onHost = "the program runs on the host as the caller's user"
	switch g {
	case sandbox.LimitFiles, sandbox.LimitMemory, sandbox.LimitCPUTime:
		if instead != "" {
			return instead
		}
		return "no limit is set"
	case sandbox.LimitProcesses, sandbox.LimitCPU:
		return "no limit is set"
	case sandbox.LimitWall:
		return "the deadline is kept by a process that the program can kill"
	case sandbox.LimitOutput:
		return "the output is cut by a process that the program can tamper with"
	case sandbox.EnvFiltered:
		return strings.Join(Inherited(), ", ") + " are the caller's, and the caller's own environment can be read from its process"
	case sandbox.LifeNoSurvivors:
		return survivors
	case sandbox.PrivNonroot, sandbox.PrivNoCapabilities, sandbox.PrivNoNewPrivileges:
		return onHost + ", with the privileges it has"
	default:
		return onHost + ", and nothing is kept from it"
	}
}
