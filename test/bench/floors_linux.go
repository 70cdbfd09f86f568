package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// emptyGo builds a Go program that does nothing, and starts it.
func emptyGo(dir string) (subject, error) {
	source, program := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return subject{}, fmt.Errorf("write an empty program: %w", err)
	}
	build := command([]string{"go", "build", "-o", program, source})
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off")
	if out, err := build.CombinedOutput(); err != nil {
		return subject{}, fmt.Errorf("build an empty program: %w: %s", err, out)
	}
	return captured(nameEmptyGo, []string{program}, truth()), nil
}

// processFloor is what a process that makes one call takes at least, over bwrap's: an empty program of its language, and
// the cold call of one that is there already.
func (m *measurement) processFloor(all []series) {
	empty, okEmpty := find(all, nameEmptyGo)
	cold, okCold := find(all, nameCold)
	peer, okPeer := find(all, nameBwrap)
	if okEmpty && okCold && okPeer {
		p50 := (median(empty.times) + median(cold.times)) / median(peer.times)
		m.results.Ratios = append(m.results.Ratios, ratio{Name: floorOf(processToPeer), P50: p50})
	}
}

// barePSS is what a bare interpreter takes that waits for its input, with nobody beside it to share its file's pages with,
// as an armed one has.
func barePSS(p program) (mib float64, err error) {
	cmd := command([]string{p.argv[0], "-c", "import sys; print(1, flush=True); sys.stdin.read()"})
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return pss(fmt.Sprint(cmd.Process.Pid))
}
