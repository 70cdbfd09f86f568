package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// node is a YAML node and the place where it is used, which for an alias is not where it is written. The reader follows
// the configuration's keys, not the tree, and no list or mapping of the configuration holds another without a key's
// name: aliases, also of themselves, cannot make it read more than there is.
type node struct {
	*yaml.Node
	line, column int
}

func use(n *yaml.Node) node {
	at := node{n, n.Line, n.Column}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		at.Node = n.Alias
	}
	return at
}

// is reports whether the node is a scalar of that type ("!!int").
func (n node) is(tag string) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == tag }

// none reports whether the key has no value, which means the default.
func (n node) none() bool { return n.is("!!null") }

// describe says what was found where something else was expected.
func (n node) describe() string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return quote(n.Value)
	default:
		return "no value"
	}
}

// parseTree returns the root of the only document of data; ok is false when there is none, which is no error.
func (d *decoder) parseTree(data []byte) (root node, ok bool) {
	if len(data) > maxFile {
		d.add(&Problem{Cause: errTooLarge.Error()})
		return node{}, false
	}
	if line, column, bad := badText(data); bad != "" {
		d.add(&Problem{Line: line, Column: column, Cause: bad, Fix: "save the file as UTF-8 text"})
		return node{}, false
	}
	var docs []yaml.Node
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		d.add(syntaxProblem(data, err))
		return node{}, false
	}
	if len(docs) > 1 {
		d.add(&Problem{Line: docs[1].Line, Column: docs[1].Column, Cause: "a second document begins here", Fix: "keep one"})
		return node{}, false
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return node{}, false
	}
	root = use(docs[0].Content[0])
	return root, !root.none()
}

// badText finds the first character that YAML does not allow, so that it can be told where: the parser has no place for
// it. A file in UTF-16, which YAML would allow, is among them.
func badText(data []byte) (line, column int, bad string) {
	line, column = 1, 1
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			return line, column, fmt.Sprintf("the byte %#02x is no UTF-8", data[0])
		case unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' && r != '\u0085':
			return line, column, fmt.Sprintf("the control character %U", r)
		case r == '\ufffe' || r == '\uffff': // YAML 1.2.2, 5.1; of the parser's errors about characters this has no place
			return line, column, fmt.Sprintf("the character %U", r)
		case r == '\n':
			line, column = line+1, 0
		}
		data = data[n:]
		column++
	}
	return 0, 0, ""
}

// syntaxProblem turns the parser's error into one of ours.
func syntaxProblem(data []byte, err error) *Problem {
	p := &Problem{Cause: err.Error(), err: err}
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return p
	}
	p.Line, p.Column, p.Cause = load.Mark.Line, load.Mark.Column, load.Message
	if load.ContextMsg != "" {
		p.Cause += " " + load.ContextMsg
	}
	p.err = errors.New(p.Cause)
	if indentedByTab(data, p.Line) {
		p.Fix = "indent with spaces; YAML takes no tabs"
	}
	return p
}

// indentedByTab reports whether a line, counted from 1, begins with white space that holds a tab.
func indentedByTab(data []byte, line int) bool {
	at := 0
	for text := range strings.Lines(string(data)) {
		if at++; at == line {
			indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
			return strings.Contains(indent, "\t")
		}
	}
	return false
}
