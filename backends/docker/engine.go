package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// dialect is the command line that an engine speaks.
type dialect string

const (
	dialectDocker  dialect = "docker"
	dialectPodman  dialect = "podman"
	dialectNerdctl dialect = "nerdctl"
)

// engine is what an engine says about itself.
type engine struct {
	dialect dialect
	// rootless says that the engine is an ordinary user's.
	rootless bool
	// remapped says that ids inside are others outside, by a map that the caller does not choose.
	remapped bool
	// local says that the engine and its containers are on this machine's own kernel.
	local bool
	// seccomp says that filters are applied.
	seccomp bool
	// memory, swap, cpu and pids say which limits the engine can set.
	memory, swap, cpu, pids bool
	// runtimes are those that can be named; nil when the engine does not list them.
	runtimes []string
}

// knows reports whether a runtime can be named. An engine without a list is asked by the call itself.
func (e *engine) knows(runtime string) bool {
	return runtime == "" || e.runtimes == nil || slices.Contains(e.runtimes, runtime)
}

// info is the union of what engines answer to `info --format '{{json .}}'`. Which of them answered shows in the fields
// that are there: podman alone has a host, docker alone lists runtimes beside its client.
type info struct {
	Name            string
	ServerVersion   string
	OSType          string
	KernelVersion   string
	SecurityOptions []string
	Runtimes        map[string]json.RawMessage
	ClientInfo      *json.RawMessage
	ServerErrors    []string
	MemoryLimit     bool
	SwapLimit       bool
	CPUCfsQuota     bool `json:"CpuCfsQuota"`
	PidsLimit       bool
	Host            *podmanHost `json:"host"`
}

// podmanHost is the part of podman's answer that is used.
type podmanHost struct {
	Controllers []string `json:"cgroupControllers"`
	Hostname    string   `json:"hostname"`
	Kernel      string   `json:"kernel"`
	Remote      bool     `json:"serviceIsRemote"`
	Security    struct {
		Rootless bool `json:"rootless"`
		Seccomp  bool `json:"seccompEnabled"`
	} `json:"security"`
}

// probeTimeout bounds every question that a person waits for, unless the configuration says otherwise.
const probeTimeout = 5 * time.Second

// bounded is ctx with a bound that says what it was.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %s", d))
}

// probe asks the engine what it is and what it can, for as long as ctx allows.
func probe(ctx context.Context, c Client) (*engine, error) {
	out, err := output(ctx, c, "info", "--format", "{{json .}}")
	var i info
	if jsonErr := json.Unmarshal(out, &i); err == nil && jsonErr != nil {
		err = fmt.Errorf("its answer is no JSON: %w", jsonErr)
	}
	if err == nil && len(i.ServerErrors) > 0 {
		err = errors.New(strings.Join(i.ServerErrors, "; "))
	}
	if err == nil && i.Host == nil && i.ServerVersion == "" {
		err = errors.New("it names no server")
	}
	if err != nil {
		return nil, &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "ask the container engine", Cause: err,
			Fix: "start the engine (for example: systemctl start docker), and see that this user may use it and that DOCKER_HOST and the context name it",
		}
	}
	return i.engine()
}

func (i info) engine() (*engine, error) {
	e := i.docker()
	if i.Host != nil {
		e = i.Host.engine()
	}
	if i.OSType != "" && i.OSType != "linux" {
		return nil, &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "ask the container engine", Cause: fmt.Errorf("its containers are %s, not Linux", i.OSType),
			Fix: "switch the engine to Linux containers",
		}
	}
	return e, nil
}

func (i info) docker() *engine {
	e := &engine{
		dialect: dialectDocker, memory: i.MemoryLimit, swap: i.SwapLimit, cpu: i.CPUCfsQuota, pids: i.PidsLimit,
		local:    sameKernel(i.Name, i.KernelVersion),
		rootless: i.option("rootless"), remapped: i.option("rootless") || i.option("userns"), seccomp: i.option("seccomp"),
	}
	if i.ClientInfo == nil && len(i.Runtimes) == 0 {
		e.dialect = dialectNerdctl
		return e
	}
	e.runtimes = []string{}
	for name := range i.Runtimes {
		e.runtimes = append(e.runtimes, name)
	}
	slices.Sort(e.runtimes)
	return e
}

// option reports whether the engine lists a security option.
func (i info) option(name string) bool {
	return slices.ContainsFunc(i.SecurityOptions, func(o string) bool {
		first, _, _ := strings.Cut(o, ",")
		return first == "name="+name
	})
}

func (h *podmanHost) engine() *engine {
	has := func(controller string) bool { return slices.Contains(h.Controllers, controller) }
	return &engine{
		dialect: dialectPodman, rootless: h.Security.Rootless, seccomp: h.Security.Seccomp,
		memory: has("memory"), swap: has("memory"), cpu: has("cpu"), pids: has("pids"),
		local: !h.Remote && sameKernel(h.Hostname, h.Kernel),
	}
}
