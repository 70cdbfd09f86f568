package tools

import (
	"bytes"
	"unicode/utf8"
)

const plainText = "text/plain"

// sniff is the type of a file by its content: of the formats that clients show or people send each other, text, or bytes.
func sniff(data []byte) string {
	for _, s := range []struct{ prefix, kind string }{
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"\xff\xd8\xff", "image/jpeg"},
		{"GIF87a", "image/gif"},
		{"GIF89a", "image/gif"},
		{"%PDF-", "application/pdf"},
		{"PK\x03\x04", "application/zip"},
		{"PK\x05\x06", "application/zip"}, // an empty one
		{"\x1f\x8b\x08", "application/gzip"},
	} {
		if bytes.HasPrefix(data, []byte(s.prefix)) {
			return s.kind
		}
	}
	switch {
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case utf8.Valid(data) && !bytes.ContainsFunc(data, binary):
		return plainText
	default:
		return "application/octet-stream"
	}
}

// binary reports whether no text has r: a control character that neither moves on a page nor begins a colour.
func binary(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\f' && r != '\r' && r != '\x1b'
}
