package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// sessionArgument is the argument by which a call names its session, and the field of a result that does.
const sessionArgument = "session_id"

// sessionUse says what a tool does with a session.
type sessionUse int

const (
	sessionNone     sessionUse = iota // the tool is not offered
	sessionOptional                   // it works without one
	sessionBegun                      // it begins one when none is named
	sessionNeeded                     // without one there is nothing to work on
)

// use is what the server offers, and how.
func use(n tools.Name) sessionUse {
	switch n {
	case tools.NameRunCode:
		return sessionOptional
	case tools.NameShellExec, tools.NameWriteFile:
		return sessionBegun
	case tools.NameReadFile, tools.NameListFiles:
		return sessionNeeded
	default:
		return sessionNone
	}
}

// describe is what a client is told about the argument.
func (u sessionUse) describe(idle time.Duration) string {
	switch u {
	case sessionOptional:
		return "A session whose workspace the code finds at /workspace. Without one the code has none."
	case sessionBegun:
		return fmt.Sprintf("The session to work in. Leave it out to begin one with an empty workspace; its id is in the result. "+
			"A session ends when it is not used for %s, and its files are gone.", idle)
	default:
		return "The session to work in, from the result of an earlier call."
	}
}

// offered are the tools of the server.
func offered(ctx context.Context, o Options) []*mcp.Tool {
	var out []*mcp.Tool
	for _, d := range tools.Definitions() {
		if u := use(d.Name); u != sessionNone {
			d.OpenWorld = d.OpenWorld || reachesOut(ctx, o.Tools.Chooser, d.Name)
			out = append(out, describe(d, u, o.Idle))
		}
	}
	return out
}

// reachesOut reports whether the operator lets a tool's program have a network, or runs it on the host.
func reachesOut(ctx context.Context, c tools.Chooser, n tools.Name) bool {
	if c == nil || n != tools.NameRunCode && n != tools.NameShellExec {
		return false
	}
	q := tools.Request{Tool: n}
	if n == tools.NameRunCode {
		q.Language, q.Network = "python", true
	}
	p, err := c.Choose(ctx, q)
	if err != nil {
		return false // it is refused, and reaches nothing
	}
	return p.OnHost || q.Network && p.Profile.Network != "" && p.Profile.Network != sandbox.NetworkNone
}

func describe(d tools.Definition, u sessionUse, idle time.Duration) *mcp.Tool {
	return &mcp.Tool{
		Name: string(d.Name), Title: d.Title, Description: d.Description,
		InputSchema:  withSession(d.Schema, u, idle),
		OutputSchema: outputSchema(d.Name),
		Annotations: &mcp.ToolAnnotations{
			Title: d.Title, ReadOnlyHint: d.ReadOnly, IdempotentHint: d.ReadOnly || d.Name == tools.NameWriteFile,
			DestructiveHint: &d.Destructive, OpenWorldHint: &d.OpenWorld,
		},
	}
}

// withSession adds the argument to a tool's schema.
func withSession(raw json.RawMessage, u sessionUse, idle time.Duration) *inputSchema {
	var s inputSchema
	if err := json.Unmarshal(raw, &s); err != nil {
		panic(fmt.Sprintf("the schema of a tool is none: %v", err)) // it is a constant of package tools
	}
	s.Properties[sessionArgument] = property{Type: "string", Description: u.describe(idle)}
	if u == sessionNeeded {
		s.Required = append(slices.Clone(s.Required), sessionArgument)
	}
	return &s
}

// argumentsOf are the names of a tool's arguments, in order, the session's among them.
func argumentsOf(n tools.Name) []string {
	for _, d := range tools.Definitions() {
		if d.Name == n {
			return slices.Sorted(maps.Keys(withSession(d.Schema, use(n), 0).Properties))
		}
	}
	return nil
}

// inputSchema is the schema of a tool's arguments.
type inputSchema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
	Additional bool                `json:"additionalProperties"`
}

type property struct {
	Type        string    `json:"type"`
	Description string    `json:"description"`
	Items       *property `json:"items,omitempty"`
}
