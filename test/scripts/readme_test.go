package scripts_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every command of the README's console blocks is run, and prints what stands there. In the README "..." stands for any
// text within a line, and alone on a line for any lines.
func TestReadme(t *testing.T) {
	programs.RequireNative(t)
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	commands := consoleCommands(string(text))
	require.NotEmpty(t, commands)
	dir := t.TempDir()
	for _, c := range commands {
		cmd := exec.Command("bash", "-c", "{ "+c.line+"\n} 2>&1")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+programs.SearchPath(), "HOME="+dir)
		out, err := cmd.Output()
		if err != nil {
			require.IsType(t, &exec.ExitError{}, err, c.line)
		}
		assert.Regexp(t, c.pattern(), string(out), c.line)
	}
}

// consoleCommand is one command and the lines below it.
type consoleCommand struct {
	line string
	want []string
}

func consoleCommands(markdown string) []consoleCommand {
	var out []consoleCommand
	for _, block := range strings.Split(markdown, "\n```console\n")[1:] {
		block, _, _ = strings.Cut(block, "\n```\n")
		for _, line := range strings.Split(block, "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, consoleCommand{line: command})
				continue
			}
			last := &out[len(out)-1]
			last.want = append(last.want, line)
		}
	}
	return out
}

// pattern matches the whole output.
func (c consoleCommand) pattern() *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range c.want {
		if line == "..." {
			b.WriteString(`(.*\n)+`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.+`) + `\n`)
	}
	return regexp.MustCompile(b.String() + `\z`)
}
