package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/soulacy/toolcell/sandbox"
)

// maxProblems bounds how many problems of one file are told.
const maxProblems = 50

// Problem is one thing that is wrong with a configuration, and where. As an error it is one line, and it is a
// [*sandbox.Error] of kind [sandbox.KindInvalid] to errors.As and errors.Is.
type Problem struct {
	// File is the file's path, or the name of an environment variable or flag.
	File string `json:"file"`
	// Line and Column count from 1. 0 means the file as a whole.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Key is the full name of the key concerned ("runtime.sandbox.pids"); "" when none is.
	Key string `json:"key"`
	// Cause is what is wrong.
	Cause string `json:"cause"`
	// Accepted says what would be taken; "" where that is no help.
	Accepted string `json:"accepted"`
	// Fix is what to do about it; "" when Accepted says it all.
	Fix string `json:"fix"`

	err error // a cause from elsewhere, kept for errors.Is
}

// Error returns "file:line:column: key: cause (fix; accepted: …)" without what is empty, always on one line.
func (p *Problem) Error() string { return p.typed().Error() }

// Unwrap returns the problem as a [*sandbox.Error].
func (p *Problem) Unwrap() error { return p.typed() }

func (p *Problem) typed() *sandbox.Error {
	op := p.position()
	if p.Key != "" {
		op += ": " + p.Key
	}
	cause := p.err
	if cause == nil {
		cause = errors.New(p.Cause)
	}
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: cause, Fix: p.help()}
}

func (p *Problem) position() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

func (p *Problem) help() string {
	switch {
	case p.Accepted == "":
		return p.Fix
	case p.Fix == "":
		return "accepted: " + p.Accepted
	case strings.HasSuffix(p.Fix, "?"):
		return p.Fix + " accepted: " + p.Accepted
	default:
		return p.Fix + "; accepted: " + p.Accepted
	}
}

// Problems returns the problems that err consists of, in the order of the file; none when err is nil, and none for an
// error that is not from this package.
func Problems(err error) []*Problem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // a tree is walked, not a chain
		var out []*Problem
		for _, e := range joined.Unwrap() {
			out = append(out, Problems(e)...)
		}
		return out
	}
	var p *Problem
	if errors.As(err, &p) {
		return []*Problem{p}
	}
	return nil
}

// join makes one error of problems, sorted by place and cut to a readable number. There were more than these.
func join(file string, problems []*Problem, more int) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more += max(0, len(problems)-maxProblems); more > 0 {
		problems = append(problems[:maxProblems:maxProblems], &Problem{File: file, Cause: fmt.Sprintf("%d more problems", more)})
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// quote shows a value of the file, cut to what a line can hold.
func quote(s string) string { return strconv.Quote(truncate(s)) }

func truncate(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && !utf8.ValidString(s) { // not in the middle of a character
		s = s[:len(s)-1]
	}
	return s + "…"
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest returns the word that name was probably meant to be, or "".
func nearest(name string, words []string) string {
	const most = 64 // bytes compared; no key is longer
	best, bestAt := "", 3
	for _, w := range words {
		if len(name) > most {
			break
		}
		if at := distance(strings.ToLower(name), w); at < bestAt && at < len(w)/2+1 {
			best, bestAt = w, at
		}
	}
	return best
}

// distance is the number of single-byte edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
