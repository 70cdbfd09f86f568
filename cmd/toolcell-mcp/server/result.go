package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// metaEnforcement is what a request's metadata has as true when it wants to know by which mechanism each guarantee was kept.
const metaEnforcement = "github.com/soulacy/toolcell/enforcement"

// The members of a program's result that say what confined it.
const (
	enforcement = "enforcement"
	gaps        = "enforcement_gaps"
)

// result is the answer to a call. Its text says what its structured content does, in words for a model; it is not said a
// third time as JSON in the text, since a model would pay for reading that.
func result(reply tools.Reply, c request, whole bool) (*mcp.CallToolResult, error) {
	m, err := parse(reply.Structured)
	if err == nil {
		m, err = m.summarize(whole)
	}
	if err != nil {
		return nil, err
	}
	r := &mcp.CallToolResult{Content: contents(reply), StructuredContent: m}
	if c.session == nil {
		return r, nil
	}
	if r.StructuredContent, err = m.with(sessionArgument, c.session.id); err != nil {
		return nil, err
	}
	if c.begun {
		r.Content = append(r.Content, &mcp.TextContent{Text: fmt.Sprintf(
			"session_id: %s\nGive it to later calls to work in the same /workspace.", c.session.id)})
	}
	return r, nil
}

// members are those of an object, in their order.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

func parse(object json.RawMessage) (members, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("a result is no object: %w", err)
	}
	var m members
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		m = append(m, member{fmt.Sprint(name), value})
	}
	return m, nil
}

// MarshalJSON implements [json.Marshaler].
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(e.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(e.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// with adds a member.
func (m members) with(name string, value any) (members, error) {
	data, err := json.Marshal(value)
	return append(m, member{name, data}), err
}

// summarize leaves of what confined a program what did not, or not in full: the rest is the same each time.
func (m members) summarize(whole bool) (members, error) {
	out := make(members, 0, len(m)+1)
	for _, e := range m {
		if e.name != enforcement || whole {
			out = append(out, e)
		}
		if e.name != enforcement {
			continue
		}
		var all sandbox.Report
		err := json.Unmarshal(e.value, &all)
		if err == nil {
			out, err = out.with(gaps, gapsOf(all))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// gapsOf are the guarantees that did not hold, those among them of which nothing is known, and those that hold but for
// something.
func gapsOf(all sandbox.Report) sandbox.Report {
	out := sandbox.Report{}
	for _, g := range sandbox.Guarantees() {
		e := all.Get(g)
		if e.Enforced && e.Reason == "" {
			continue
		}
		e.Guarantee = g
		out = append(out, e)
	}
	return out
}
