package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// isTerminal reports whether w may be a terminal. It says yes for every character device: escaping what goes to
// /dev/null costs nothing, and no system call of one operating system is needed.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// steers reports whether a terminal would take r as more than a character to show: C0 but newline and tab, DEL, C1,
// and the marks that reorder text (Unicode 15, section 23.2 and UAX #9).
func steers(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	default:
		return false
	}
}

// escapeText makes steering characters and bytes that are no UTF-8 visible.
func escapeText(s string) string {
	return escape(s, func(b *strings.Builder, r rune) {
		if r < utf8.RuneSelf {
			fmt.Fprintf(b, `\x%02x`, r)
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	})
}

// escapeJSON does the same in a way that leaves JSON what it is: outside strings it holds none of these characters.
func escapeJSON(s string) string {
	return escape(s, func(b *strings.Builder, r rune) { fmt.Fprintf(b, `\u%04x`, r) })
}

func escape(s string, show func(*strings.Builder, rune)) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case steers(r):
			show(&b, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// escaper writes to a terminal what untrusted code printed, with everything that steers the terminal made visible.
type escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character whose other bytes have not come yet
}

// Write escapes p. A character that p cuts in two is written with the next call.
func (e *escaper) Write(p []byte) (int, error) {
	data := append(e.rest, p...)
	cut := len(data) - partialRune(data)
	e.rest = append([]byte(nil), data[cut:]...)
	if _, err := io.WriteString(e.w, escapeText(string(data[:cut]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what an unfinished character left.
func (e *escaper) flush() error {
	if len(e.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(e.w, escapeText(string(e.rest)))
	e.rest = nil
	return err
}

// partialRune returns how many bytes at the end of b begin a character that is not complete.
func partialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
