package tools

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A browser's rules say the same of everything that is known here.
func TestSniff(t *testing.T) {
	for _, data := range []string{
		"", "text", "a\tb\n", "\x1b[31mred", "é", "\x89PNG\r\n\x1a\nrest", "\xff\xd8\xff\xe0", "GIF87a", "GIF89a...", "%PDF-1.7",
		"RIFF\x00\x00\x00\x00WEBPVP8 ", "\x00\x01", "a\x00b", "PK\x03\x04",
	} {
		want, _, _ := strings.Cut(http.DetectContentType([]byte(data)), ";")
		assert.Equal(t, want, sniff([]byte(data)), "%q", data)
	}
	assert.Equal(t, "application/gzip", sniff([]byte("\x1f\x8b\x08")))
	assert.Equal(t, "application/zip", sniff([]byte("PK\x05\x06")))
	for _, data := range []string{"\xff\xfe", "\x89PN"} {
		assert.Equal(t, "application/octet-stream", sniff([]byte(data)), "what is not UTF-8 is no text")
	}
	assert.Equal(t, "text/plain", sniff([]byte("<script>")), "what a name does not say is not believed")
}
