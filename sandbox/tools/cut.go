package tools

import (
	"strings"
	"unicode/utf8"
)

// truncatedMark ends a stream of which not everything is shown.
const truncatedMark = "[output truncated]"

// cut returns the first bytes of b, at most n, without a part of a rune at the end. more says that b was already cut
// off somewhere, so that its end may be such a part as well.
func cut(b []byte, n int, more bool) ([]byte, bool) {
	if len(b) <= n && !more {
		return b, false
	}
	return wholeRunes(b[:min(len(b), n)]), true
}

func cutString(s string, n int) string {
	b, _ := cut([]byte(s), n, false)
	return string(b)
}

// wholeRunes drops the beginning of a rune at the end. What is no UTF-8 anyway stays.
func wholeRunes(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			return b
		}
	}
	return b
}

// text makes output a model's: bytes that are no UTF-8 become U+FFFD.
func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
