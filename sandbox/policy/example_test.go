package policy_test

import (
	"fmt"

	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

// A gateway decides once at its start which backend isolates, and then asks for every call.
func Example() {
	c, err := config.Parse("config.yaml", []byte("runtime: {sandbox: {binary: auto, python_tools: limits}}"), config.Options{GOOS: "linux"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var probes []policy.Probe
	for _, backend := range policy.Candidates(c) {
		probes = append(probes, policy.Probe{Backend: backend}) // a gateway asks the backend whether it is ready
	}
	p := policy.New(c, policy.Select(c, probes))

	manifest := "id: scout\nexecution: {backend: docker}"
	scout, err := config.ParseAgent("scout/SOUL.yaml", []byte(manifest))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []policy.Request{
		{Path: policy.Inline},
		{Path: policy.Inline, Agent: scout},
		{Path: policy.RunCode, Network: true},
	} {
		d, err := p.Decide(r)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(d.Level, d.Backend, "by", d.Why)
	}
	// Output:
	// limits host by runtime.sandbox.python_tools: limits (config.yaml:1)
	// sandbox native by execution.backend: docker (scout/SOUL.yaml:2)
	// run_code: net.none: no network is granted: asked for a network (the call), the operator's floor is executor.docker_network: none (default) (the operator may set executor.docker_network and a container engine as runtime.sandbox.binary; the native backend has no network to grant)
}
