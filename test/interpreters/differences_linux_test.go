package interpreters_test

import (
	"context"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// difference is a line of testdata/DIFFERENCES.md.
type difference struct {
	program, with, fresh, ahead string
}

// differences reads the table.
func differences(t *testing.T) []difference {
	t.Helper()
	line := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ?(?:`([^`]*)`)? \\| `([^`]*)` \\| `([^`]*)` \\| .+ \\|$")
	var out []difference
	for _, m := range line.FindAllStringSubmatch(string(read(t, "testdata/DIFFERENCES.md")), -1) {
		out = append(out, difference{m[1], m[2], m[3], m[4]})
	}
	return out
}

// arming is what is asked for beside the interpreter.
func (d difference) arming(t *testing.T) sandbox.Arming {
	t.Helper()
	what, modules, _ := strings.Cut(d.with, " ")
	switch what {
	case "":
		return sandbox.Arming{}
	case "pin":
		return sandbox.Arming{Pin: true}
	case "preload":
		return sandbox.Arming{Preload: strings.Fields(modules)}
	}
	require.Fail(t, "an arming that is unknown", d.with)
	return sandbox.Arming{}
}

// aged waits between the interpreter's start and its program, so that the one is older by more than clocks are apart.
func aged(with sandbox.Arming) how {
	h := ahead(with)
	return how{name: h.name, ready: func(ctx context.Context, b sandbox.Backend, p sandbox.ContainerProfile, c sandbox.Command) error {
		defer time.Sleep(200 * time.Millisecond)
		return h.ready(ctx, b, p, c)
	}}
}

// What is listed differs as it is listed, and every program for it is in the list. The comparison of the corpus would see
// each of them.
func TestDifferences(t *testing.T) {
	programs := map[string]program{}
	for _, l := range []language{python(), node()} {
		for _, p := range corpus(t, "testdata/differences", l) {
			programs[path.Join(l.name, p.name)+path.Ext(p.main)] = p
		}
	}
	list := differences(t)
	assert.Len(t, list, len(programs), "lines of the list, and programs")
	b := open(t)
	for _, d := range list {
		t.Run(d.program, func(t *testing.T) {
			p, ok := programs[d.program]
			require.True(t, ok, "a line without a program")
			require.NotEqual(t, d.fresh, d.ahead)
			requireInterpreter(t, b, p.language)
			assert.Equal(t, outcome{ended: "exit 0", stdout: d.fresh + "\n"}.String(), run(t, b, p, cold()).String())
			assert.Equal(t, outcome{ended: "exit 0", stdout: d.ahead + "\n"}.String(), runAhead(t, b, p, aged(d.arming(t))).String())
		})
	}
}
