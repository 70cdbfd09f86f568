package policy

import (
	"fmt"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// Refusal is the cause of an error of kind [sandbox.KindRefused]: what the operator demands and what was asked for. A
// gateway that sees one does not try again.
type Refusal struct {
	// Why is what is wrong, in a few words.
	Why string `json:"why"`
	// Floor is what the operator demands, with where that was written; "" when no floor is concerned.
	Floor string `json:"floor"`
	// Request is what was asked for, with where that was written; "" when nothing was.
	Request string `json:"request"`
}

// Error returns all three in one line.
func (r *Refusal) Error() string {
	s := r.Why
	if r.Request != "" && r.Floor != "" {
		s += fmt.Sprintf(": asked for %s, the operator's floor is %s", r.Request, r.Floor)
	}
	return s
}

func (p Policy) refuse(r Request, why *Refusal, fix string) *sandbox.Error {
	op := string(r.Path)
	if !r.Path.Valid() {
		op = "call"
	}
	if r.Agent.ID != "" {
		op += " of agent " + r.Agent.ID
	}
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Cause: why, Fix: fix}
}

// refuseLooser refuses a request for less isolation than the floor.
func (p Policy) refuseLooser(r Request, floor, asked demand) error {
	return p.refuse(r, &Refusal{Why: "less isolation than the operator allows", Floor: floor.String(), Request: asked.String()},
		"remove the request, or let the operator lower the floor")
}

// refuseOther refuses a request for a backend that was not opened.
func (p Policy) refuseOther(r Request, floor, asked demand) error {
	has := demand{word: "backend " + p.selection.Backend, from: p.selection.From}
	if p.selection.Backend == "" {
		has = floor
	}
	return p.refuse(r, &Refusal{Why: "another backend than the operator's", Floor: has.String(), Request: asked.String()},
		"ask for docker, which is any sandbox, or let the operator set executor.backend: "+asked.backend)
}

// refuseNetwork refuses a request for a network that was not granted.
func (p Policy) refuseNetwork(r Request, backend string) error {
	key := "executor.docker_network"
	floor := demand{word: key + ": " + p.config.Executor.Network, from: p.config.Origin(key).String()}
	fix := "the operator may set " + key
	if !config.IsEngine(backend) {
		fix = "the operator may set " + key + " and a container engine as runtime.sandbox.binary; the native backend has no network to grant"
	}
	err := p.refuse(r, &Refusal{Why: "no network is granted", Floor: floor.String(), Request: "a network (the call)"}, fix)
	err.Guarantee = sandbox.NetNone
	return err
}
