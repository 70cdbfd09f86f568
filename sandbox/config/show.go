package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Value is one effective value.
type Value struct {
	// Key is the key's full name.
	Key string `json:"key"`
	// JSON is the value, empty ("", [], {}) where nothing is set or the backend will decide.
	JSON json.RawMessage `json:"value"`
	// Origin is where it comes from.
	Origin Origin `json:"origin"`
}

// Values returns every effective value, in the order of the documentation.
func (c *Config) Values() []Value {
	var out []Value
	c.walk(c.schema(""), "", func(path string, v value) {
		out = append(out, Value{Key: path, JSON: show(v), Origin: c.Origin(path)})
	})
	return out
}

// Show writes the effective configuration as YAML, each value with where it comes from as a comment. It can be read
// back, and then means the same.
func (c *Config) Show(w io.Writer) error {
	var b strings.Builder
	file := "no file"
	if c.File != "" {
		file = c.File
	}
	fmt.Fprintf(&b, "# %s\n", comment(file))
	shown := []string{}
	c.walk(c.schema(""), "", func(path string, v value) {
		parts := strings.Split(path, ".")
		for i := range parts[:len(parts)-1] {
			if i >= len(shown) || shown[i] != parts[i] {
				fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), parts[i])
				shown = append(shown[:i:i], parts[i])
			}
		}
		shown = shown[:len(parts)-1]
		indent := strings.Repeat("  ", len(parts)-1)
		fmt.Fprintf(&b, "%s%s: %s  # %s\n", indent, parts[len(parts)-1], show(v), comment(c.Origin(path).String()))
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// walk visits the leaves of a section.
func (c *Config) walk(s section, path string, visit func(string, value)) {
	for _, k := range s.keys {
		full := dotted(path, k.name)
		if inner, ok := k.value.(section); ok {
			c.walk(inner, full, visit)
			continue
		}
		visit(full, k.value)
	}
}

// show returns a value as JSON, which is YAML as well.
func show(v value) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v.show()) // texts, numbers and lists of them always have a form
	return escapeForYAML(bytes.TrimSpace(b.Bytes()))
}

// escapeForYAML escapes what JSON lets stand in a string and YAML does not, or takes for the end of a line (YAML 1.1, 5.1
// and 5.4).
func escapeForYAML(data []byte) []byte {
	var b strings.Builder
	for _, r := range string(data) {
		if unreadable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return []byte(b.String())
}

func unreadable(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// comment is text for the rest of a line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || unreadable(r) {
			return '?'
		}
		return r
	}, s)
}

func (section) show() any   { return nil } // its keys are shown
func (b boolean) show() any { return *b.p != b.inverted }
func (w word[T]) show() any { return string(*w.p) }
func (v number) show() any  { return *v.p }
func (v cores) show() any   { return *v.p }
func (v seconds) show() any { return int(*v.p / time.Second) }
func (v duration) show() any {
	if *v.p == 0 {
		return ""
	}
	return v.p.String()
}
func (t text) show() any { return *t.p }
func (l list[T]) show() any {
	return append([]T{}, *l.p...)
}

func (t table) show() any {
	if *t.p == nil {
		return map[string]string{}
	}
	return *t.p // encoding/json sorts the keys
}
