package backends

import (
	"errors"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// distinct says what joined errors say, each once: what keeps one tool from its backend mostly keeps the others.
func distinct(err error) string {
	var all []string
	for _, e := range joined(err) {
		text := e.Error()
		var typed *sandbox.Error
		if errors.As(e, &typed) { // without the name of the tool that met it
			text = typed.Error()
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// joined are the errors that [errors.Join] put together, at whatever depth.
func joined(err error) []error {
	many, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // a tree is walked, not a chain
	if !ok {
		return []error{err}
	}
	var out []error
	var texts []string
	for _, e := range many.Unwrap() {
		out, texts = append(out, joined(e)...), append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // it has words of its own
		return []error{err}
	}
	return out
}
