package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Render writes the checks as aligned text: status, name and mechanism on one line, what else there is below, once where
// checks in a row have it in common. With color the status is coloured; give false for everything but a terminal.
func Render(w io.Writer, checks []Check, color bool) error {
	width := 0
	for _, c := range checks {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	var b strings.Builder
	var before Check
	for _, c := range checks {
		shown := c
		if c.Detail != "" && c.Detail == before.Detail && c.Remedy == before.Remedy && (c.Status == OK) == (before.Status == OK) {
			shown.Detail, shown.Remedy = "as above", ""
		}
		shown.render(&b, width, color)
		before = c
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Check) render(b *strings.Builder, width int, color bool) {
	line := fmt.Sprintf("%s  %-*s  %s", c.Status.text(color), width, c.Name, c.Mechanism)
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	indent := strings.Repeat(" ", len("warn")+2+width+2)
	if c.Detail != "" {
		b.WriteString(indent + c.Detail + "\n")
	}
	if c.Remedy != "" && c.Status != OK {
		b.WriteString(indent + "fix: " + c.Remedy + "\n")
	}
}

// text returns the status, four columns wide.
func (s Status) text(color bool) string {
	padded := fmt.Sprintf("%-4s", s)
	if !color {
		return padded
	}
	code := map[Status]string{OK: "32", Warn: "33", Fail: "31;1"}[s]
	return "\x1b[" + code + "m" + padded + "\x1b[0m"
}
