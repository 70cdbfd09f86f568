package tools

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Progress is what a tool says about how far it is: one line of JSON with "type": "progress" on its standard output, by
// print in a function and in a whole program alike. Such a line is no part of the result; one that is malformed stays
// where it is.
type Progress struct {
	// Percent is how much is done, as the tool counts.
	Percent float64 `json:"percent"`
	// Status says it in words.
	Status string `json:"status"`
}

// maxLine is how long a line is that is handed on in one part, and how long a progress line can be.
const maxLine = 64 << 10

// parseProgress reads a progress line.
func parseProgress(line []byte) (Progress, bool) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	long := len(line) > maxLine
	if line = bytes.TrimSpace(line); long || len(line) == 0 || line[0] != '{' {
		return Progress{}, false
	}
	var p struct {
		Type string `json:"type"`
		Progress
	}
	if json.Unmarshal(line, &p) != nil || p.Type != "progress" {
		return Progress{}, false
	}
	return p.Progress, true
}

// withoutProgress returns a stream without its progress lines.
func withoutProgress(stream []byte) []byte {
	var out []byte
	at, kept := 0, 0
	for line := range bytes.Lines(stream) {
		if _, ok := parseProgress(line); ok {
			out = append(out, stream[kept:at]...)
			kept = at + len(line)
		}
		at += len(line)
	}
	if kept == 0 {
		return stream
	}
	return append(out, stream[kept:]...)
}

// lines is a writer that hands a stream on line by line, and a long line in parts. The zero value drops everything.
type lines struct {
	// line receives each part without the line's end. whole says that it is a line by itself.
	line func(part []byte, whole bool)

	mu     sync.Mutex
	buf    []byte
	inside bool // parts of the present line were handed on
}

func (l *lines) Write(b []byte) (int, error) {
	if l.line == nil {
		return len(b), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			l.keep(b)
			break
		}
		l.keep(b[:at])
		l.end()
		b = b[at+1:]
	}
	return n, nil
}

// keep adds to the present line, and hands its parts on when it becomes too long.
func (l *lines) keep(b []byte) {
	for len(l.buf)+len(b) > maxLine {
		room := maxLine - len(l.buf)
		part := append(l.buf, b[:room]...)
		whole := wholeRunes(part)
		rest := bytes.Clone(part[len(whole):])
		l.line(whole, false)
		l.buf, l.inside, b = append(l.buf[:0], rest...), true, b[room:]
	}
	l.buf = append(l.buf, b...)
}

// end hands the present line on.
func (l *lines) end() {
	if len(l.buf) > 0 || !l.inside {
		l.line(bytes.TrimSuffix(l.buf, []byte("\r")), !l.inside)
	}
	l.buf, l.inside = l.buf[:0], false
}

// flush hands on what came without a line's end. A receiver that has not returned from its last line gets no other one.
func (l *lines) flush() {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	if l.line != nil && (len(l.buf) > 0 || l.inside) {
		l.end()
	}
}

// taps are the writers of a call.
type taps struct{ stdout, stderr *lines }

func (t taps) flush() {
	t.stdout.flush()
	t.stderr.flush()
}

// taps hand on what a tool writes. What a function prints comes on the error stream, its progress with it.
func (r pythonRun) taps() taps {
	progress := func(part []byte, whole bool) bool {
		p, ok := parseProgress(part)
		if ok = ok && whole; ok && r.call.Progress != nil {
			r.call.Progress(p)
		}
		return ok
	}
	t := taps{&lines{}, &lines{}}
	if r.program {
		t.stdout.line = func(part []byte, whole bool) { progress(part, whole) }
	}
	t.stderr.line = func(part []byte, whole bool) {
		if (r.program || !progress(part, whole)) && r.call.Log != nil {
			r.call.Log(text(part))
		}
	}
	return t
}
