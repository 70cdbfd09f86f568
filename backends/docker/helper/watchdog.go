package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DirPrefix begins the name of the directory that a backend keeps its files in.
const DirPrefix = "toolcell-files-"

// greeting begins a watchdog's input. The name of the argument alone makes no watchdog.
const greeting = "toolcell-docker-watchdog-1"

// Watch is what a watchdog is told first.
type Watch struct {
	// Binary is the engine's command.
	Binary string `json:"binary"`
	// Label is on every container of the backend, as KEY=VALUE.
	Label string `json:"label"`
	// Dir is the backend's directory of files, removed last. Its name begins with DirPrefix.
	Dir string `json:"dir"`
	// Daemon says that the engine's command only talks to a daemon, so that it needs to write nothing itself.
	Daemon bool `json:"daemon,omitempty"`
}

// WatchdogCommand returns the command of a watchdog that is this module's program at path. Its standard input is to be a
// pipe that the caller alone holds.
func WatchdogCommand(path string) *exec.Cmd {
	cmd := exec.Command(path, watchdogArg)
	cmd.Args[0] = filepath.Base(path)
	apart(cmd)
	return cmd
}

// Greet begins a watchdog's input.
func Greet(w io.Writer, watch Watch) error {
	data, err := json.Marshal(watch)
	if err != nil {
		return fmt.Errorf("greet the watchdog: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n", greeting, data); err != nil {
		return fmt.Errorf("greet the watchdog: %w", err)
	}
	return nil
}

const (
	// eachCommand bounds one of the engine's commands.
	eachCommand = 10 * time.Second
	// lookAgain is how long the watchdog looks for containers that its dead caller's last commands still make.
	lookAgain, lookEvery = 10 * time.Second, 250 * time.Millisecond
)

// runWatchdog reads names until its input ends, and then removes what was not taken back.
func runWatchdog(in io.Reader) int {
	// It is to outlive its caller, whatever ends that.
	signal.Ignore(ignored()...)
	lines := bufio.NewScanner(in)
	if !lines.Scan() || lines.Text() != greeting || !lines.Scan() {
		return 2
	}
	var w Watch
	if err := json.Unmarshal(lines.Bytes(), &w); err != nil || !filepath.IsAbs(w.Dir) || !strings.HasPrefix(filepath.Base(w.Dir), DirPrefix) {
		return 2
	}
	if err := confine(w); err != nil {
		fmt.Fprintln(os.Stderr, "watchdog:", err)
		return 1
	}
	names := map[string]bool{}
	for lines.Scan() {
		switch op, name, _ := strings.Cut(lines.Text(), " "); op {
		case "add":
			names[name] = true
		case "forget":
			delete(names, name)
		}
	}
	if len(names) > 0 {
		w.removeAll(slices.Sorted(maps.Keys(names)))
	}
	if err := os.RemoveAll(w.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 1
	}
	return 0
}

// removeAll removes containers by name at once, and then by label what appears after that: the caller's last command may
// still be on its way to the engine.
func (w Watch) removeAll(names []string) {
	_, _ = w.command(append([]string{"rm", "-f", "-v"}, names...)...)
	quiet := 0
	for until := time.Now().Add(lookAgain); time.Now().Before(until) && quiet < 8; time.Sleep(lookEvery) {
		out, err := w.command("ps", "-a", "-q", "--no-trunc", "--filter", "label="+w.Label)
		ids := strings.Fields(string(out))
		switch {
		case err != nil:
			quiet = 0 // the engine does not answer: the next start's sweep is what is left
		case len(ids) == 0:
			quiet++
		default:
			quiet = 0
			_, _ = w.command(append([]string{"rm", "-f", "-v"}, ids...)...)
		}
	}
}

// command runs one of the engine's commands and returns what it says.
func (w Watch) command(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), eachCommand)
	defer cancel()
	return exec.CommandContext(ctx, w.Binary, args...).Output()
}
