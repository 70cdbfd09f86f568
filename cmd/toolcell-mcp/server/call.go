package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// errEnding is the answer to calls that come too late.
var errEnding = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "mcp", Cause: errors.New("the server is ending")}

// canceled is the answer to a call that its client gave up before it ran.
func canceled(ctx context.Context) error {
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: "mcp", Cause: context.Cause(ctx)}
}

// call answers one call of a tool. It returns no error: what a model did wrong, or the sandbox could not do, the model is
// to read.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, end, err := s.begin(s.carriers.bind(ctx, req.Extra))
	if err != nil {
		return failure(tools.Reply{}, err), nil
	}
	defer end()
	free, err := s.slot(ctx)
	if err != nil {
		return failure(tools.Reply{}, err), nil
	}
	defer free()
	c, err := s.read(req)
	if err != nil {
		return failure(tools.Reply{}, err), nil
	}
	if c.session == nil {
		return s.run(ctx, req, c), nil
	}
	r := s.run(ctx, req, c)
	if r.IsError && c.begun {
		s.sessions.drop(c.session)
	} else {
		s.sessions.release(c.session)
	}
	return r, nil
}

// run has a tool do what was asked.
func (s *Server) run(ctx context.Context, req *mcp.CallToolRequest, c request) *mcp.CallToolResult {
	if c.session != nil {
		if err := s.room(c); err != nil {
			return failure(tools.Reply{}, err)
		}
	}
	ctx, unwatch := s.watch(ctx, c)
	told := newProgress(ctx, req)
	reply := c.tools(s.options).Call(ctx, c.name, c.arguments, told.streams())
	told.stop()
	full := unwatch()
	if reply.IsError() {
		return failure(reply, reply.Err)
	}
	r, err := result(reply, c, req.Params.Meta[metaEnforcement] == true)
	if err != nil {
		return failure(tools.Reply{}, &sandbox.Error{Kind: sandbox.KindSetup, Op: string(c.name), Cause: err})
	}
	if full != "" {
		r.Content = append(r.Content, &mcp.TextContent{Text: full})
	}
	return r
}

// request is a call with its session, if it has one.
type request struct {
	name      tools.Name
	arguments json.RawMessage
	session   *session
	// begun says that the session was made for this call.
	begun bool
}

// read takes the session out of a call's arguments. What is wrong with the others, the tool says.
func (s *Server) read(req *mcp.CallToolRequest) (request, error) {
	c := request{name: tools.Name(req.Params.Name), arguments: req.Params.Arguments}
	id, rest, err := sessionOf(c.name, c.arguments)
	if err != nil {
		return request{}, err
	}
	c.arguments = rest
	switch u := use(c.name); {
	case id != "":
		c.session, err = s.sessions.use(id)
	case u == sessionBegun:
		c.session, err = s.sessions.begin()
		c.begun = true
	case u == sessionNeeded:
		err = &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: string(c.name), Cause: errors.New(sessionArgument + " is required"),
			Fix: "take the one from the result of write_file or shell_exec, which begin a session when they are given none",
		}
	}
	return c, err
}

// sessionOf splits the session off the arguments of a tool. The others stay as they are and in their order, for the tool to
// read. Those that are no object, too, are the tool's to refuse.
func sessionOf(tool tools.Name, raw json.RawMessage) (id string, rest json.RawMessage, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return "", raw, nil
	}
	all, err := tools.SplitArguments(raw, argumentsOf(tool))
	if err != nil {
		return "", nil, sandbox.Invalid(string(tool), "arguments: %w", err)
	}
	b := []byte("{")
	for _, a := range all {
		if a.Name == sessionArgument {
			var value *string
			if json.Unmarshal(a.Value, &value) != nil {
				return "", nil, sandbox.Invalid(sessionArgument, "it has to be a string")
			}
			if value != nil {
				id = *value
			}
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, a.Name), ':'), a.Value...) // a known name, which JSON quotes like Go
	}
	return id, append(b, '}'), nil
}

// tools are the operator's tools in the session's workspace.
func (c request) tools(o Options) tools.Tools {
	t := o.Tools
	t.TempDir, t.Artifacts = o.Dir, artifactLimits()
	t.Workspace, t.Roots = "", nil
	if c.session != nil {
		t.Workspace = c.session.workspace()
		t.Chooser = inWorkspace{t.Chooser, t.Workspace}
	}
	return t
}

// inWorkspace shows programs a session's workspace, and none that the operator's configuration has.
type inWorkspace struct {
	tools.Chooser
	dir string
}

// Choose implements [tools.Chooser].
func (c inWorkspace) Choose(ctx context.Context, r tools.Request) (tools.Place, error) {
	if c.Chooser == nil {
		return tools.Place{}, &sandbox.Error{Kind: sandbox.KindRefused, Op: string(r.Tool), Cause: errors.New("nothing decides where it may run")}
	}
	p, err := c.Chooser.Choose(ctx, r)
	if err != nil || p.OnHost {
		return p, err
	}
	binds := slices.DeleteFunc(slices.Clone(p.Profile.Binds), func(m sandbox.Mount) bool { return m.Target == tools.WorkspaceTarget })
	p.Profile.Binds = append(binds, sandbox.Mount{Source: c.dir, Target: tools.WorkspaceTarget, Writable: true, Exec: true})
	return p, nil
}

// failure is the answer to a call that was not made as asked.
func failure(reply tools.Reply, err error) *mcp.CallToolResult {
	text := reply.Text
	if text == "" {
		text = "Error: " + err.Error()
	}
	r := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: cut(text)}}}
	var typed *sandbox.Error
	if errors.As(err, &typed) {
		r.Meta = mcp.Meta{metaError: bounded(typed)}
	}
	return r
}

// bounded is an error without what it may repeat of a large argument.
func bounded(e *sandbox.Error) *sandbox.Error {
	b := &sandbox.Error{Kind: e.Kind, Guarantee: e.Guarantee, Op: cut(e.Op), Fix: cut(e.Fix)}
	if e.Cause != nil {
		b.Cause = errors.New(cut(e.Cause.Error()))
	}
	return b
}

// metaError is where a program finds what an error's text says: kind, guarantee, cause and fix.
const metaError = "github.com/soulacy/toolcell/error"
