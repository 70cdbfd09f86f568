package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// executor is a gateway's own interface to Python code, in front of the tools.
type executor struct{ tools.Tools }

// Run calls a function of a file, or runs inline code. Its error is the sandbox's or the tool's; [tools.Final] tells a
// gateway whether to try again.
func (e executor) Run(ctx context.Context, file, function, inline string, arguments []byte) (string, error) {
	call := tools.PythonCall{Name: function, Arguments: json.RawMessage(arguments)}
	var r tools.PythonResult
	var err error
	if inline != "" {
		r, err = e.Inline(ctx, tools.InlineArgs{PythonCall: call, Code: inline, Function: function})
	} else {
		r, err = e.PythonFile(ctx, tools.FileArgs{PythonCall: call, File: file})
	}
	if err == nil {
		err = r.Failed()
	}
	return r.Output, err
}

// A gateway that has an interface of its own for Python code fills it in a few lines.
func ExampleTools_Inline() {
	backend := fake.New(fake.Exit(0, `{"sum": 5}`, ""), fake.Exit(1, "", "ZeroDivisionError: division by zero\n"))
	e := executor{tools.Tools{Chooser: always(backend)}}
	out, err := e.Run(context.Background(), "", "run", "def run(a): return {'sum': a['x'] + a['y']}", []byte(`{"x": 2, "y": 3}`))
	fmt.Println(out, err)
	_, err = e.Run(context.Background(), "", "run", "def run(a): return 1 / 0", nil)
	fmt.Println(err, tools.Final(err))
	_, err = e.Run(context.Background(), "", "run", "def run(a): ...", []byte("x=2"))
	fmt.Println(err, tools.Final(err))
	// Output:
	// {"sum": 5} <nil>
	// tool execution failed (exit status 1): ZeroDivisionError: division by zero false
	// tool "run": arguments: not a JSON object true
}
