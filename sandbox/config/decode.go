package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// decoder reads one file and collects everything that is wrong with it.
type decoder struct {
	file     string
	problems []*Problem
	more     int // problems beyond what is kept
	origins  map[string]Origin
	// warnings are what stopped nothing.
	warnings []*Problem
	// told is what was said to be accepted.
	told map[string]bool
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, origins: map[string]Origin{}, told: map[string]bool{}}
}

// maxKept bounds what a file full of mistakes costs.
const maxKept = 1000

// full reports whether no more problems are kept, and counts the one that was about to be told.
func (d *decoder) full() bool {
	if len(d.problems) < maxKept {
		return false
	}
	d.more++
	return true
}

// add notes a problem of the file.
func (d *decoder) add(p *Problem) {
	if d.full() {
		return
	}
	if p.File == "" {
		p.File = d.file
	}
	d.problems = append(d.problems, p)
}

// err is what was noted, as one error, or nil.
func (d *decoder) err() error { return join(d.file, d.problems, d.more) }

// wrong notes what is wrong with a value.
func (d *decoder) wrong(n node, path, cause, accepted string) {
	d.add(&Problem{Line: n.line, Column: n.column, Key: path, Cause: cause, Accepted: accepted})
}

// contradiction notes what is wrong with a value that was read, at the place where it comes from.
func (d *decoder) contradiction(key, cause, fix string) {
	at := d.origins[key]
	file := at.File
	if file == "" {
		file = at.String()
	}
	d.add(&Problem{File: file, Line: at.Line, Column: at.Column, Key: key, Cause: cause, Fix: fix})
}

// value is what a key of the file is read into.
type value interface {
	// decode reads n, which is not null, into the value or tells d what is wrong.
	decode(d *decoder, path string, n node)
	// accepts says what would be taken, with the default.
	accepts() string
	// show returns what the value is now.
	show() any
}

// key is one key of a section.
type key struct {
	name  string
	value value
}

// section is a mapping with known keys.
type section struct {
	keys []key
	// open sections hold other programs' keys as well; those are passed over.
	open bool
	// refused explains keys that are known and not taken: it returns what to do instead, or "".
	refused func(name string) string
	// elsewhere are sections of this file that an open one could be taken to have, each with its full name.
	elsewhere map[string]string
}

func (s section) accepts() string { return "a mapping with " + strings.Join(s.names(), ", ") }

func (s section) names() []string {
	out := make([]string, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.name
	}
	return out
}

func (s section) find(name string) (value, bool) {
	i := slices.IndexFunc(s.keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return nil, false
	}
	return s.keys[i].value, true
}

func (s section) decode(d *decoder, path string, n node) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, n.describe()+" is no mapping", s.accepts())
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, val := use(n.Content[i]), use(n.Content[i+1])
		v, ok := s.find(name.Value)
		if !ok || !name.is("!!str") {
			s.unknown(d, path, name, val)
			continue
		}
		full := dotted(path, name.Value)
		if first, twice := seen[name.Value]; twice {
			d.add(&Problem{Line: name.line, Column: name.column, Key: full, Cause: "it is there twice, first on line " + itoa(first), Fix: "keep one"})
			continue
		}
		seen[name.Value] = name.line
		if val.none() {
			continue
		}
		if _, inner := v.(section); !inner {
			d.origins[full] = Origin{File: d.file, Line: name.line, Column: name.column}
		}
		v.decode(d, full, val)
	}
}

// unknown tells what is wrong with a key that is none of the section's.
func (s section) unknown(d *decoder, path string, name, val node) {
	switch {
	case name.is("!!merge"):
		s.merge(d, path, name, val)
	case s.open:
		s.misspelt(d, path, name)
	case name.Kind != yaml.ScalarNode:
		d.wrong(name, path, name.describe()+" is no key", strings.Join(s.names(), ", "))
	default:
		s.noSuchKey(d, path, name)
	}
}

func (s section) noSuchKey(d *decoder, path string, name node) {
	if d.full() { // the nearest key is not worth finding
		return
	}
	p := &Problem{Line: name.line, Column: name.column, Key: dotted(path, truncate(name.Value)), Cause: "there is no such key"}
	instead := ""
	if s.refused != nil {
		instead = s.refused(name.Value)
	}
	switch near := nearest(name.Value, s.names()); {
	case instead != "":
		p.Cause, p.Fix = "this key is not taken", instead
	case near != "":
		p.Fix, p.Accepted = "did you mean "+near+"?", strings.Join(s.names(), ", ")
	default:
		p.Accepted = strings.Join(s.names(), ", ")
	}
	d.add(p)
}

// misspelt catches, in a section that others share, a key that a gateway without regard to case or one that splits keys
// at dots would read and this package would pass over.
func (s section) misspelt(d *decoder, path string, name node) {
	if name.Kind != yaml.ScalarNode {
		return
	}
	for _, k := range s.names() {
		switch {
		case name.Value != k && strings.EqualFold(name.Value, k):
			d.add(&Problem{Line: name.line, Column: name.column, Key: dotted(path, name.Value), Cause: "the key is not spelled like this", Fix: "write " + k})
		case name.Value != k && strings.EqualFold(visible(name.Value), k):
			d.add(&Problem{Line: name.line, Column: name.column, Key: dotted(path, k), Cause: "the key " + strconv.QuoteToASCII(truncate(name.Value)) + " has what cannot be seen", Fix: "write " + k})
		case s.reaches(k, name.Value):
			d.add(&Problem{Line: name.line, Column: name.column, Key: dotted(path, truncate(name.Value)), Cause: "a key with dots is not read", Fix: "write nested mappings"})
		default:
			continue
		}
		return
	}
	s.nearMiss(d, path, name)
}

// nearMiss warns of a key that is passed over and may have been meant for one that is read, here or elsewhere: what it says
// holds for nothing.
func (s section) nearMiss(d *decoder, path string, name node) {
	if len(d.warnings) >= maxProblems {
		return
	}
	words := slices.Concat(slices.Sorted(maps.Keys(s.elsewhere)), s.names())
	near := nearest(strings.TrimSpace(name.Value), words)
	if near == "" {
		return
	}
	full := s.elsewhere[near]
	if full == "" {
		full = dotted(path, near)
	}
	d.warnings = append(d.warnings, &Problem{
		File: d.file, Line: name.line, Column: name.column, Key: dotted(path, truncate(name.Value)),
		Cause: "this key is not read, and nothing below it holds", Fix: "did you mean " + full + "?",
	})
}

// visible is what a person sees of a key: not the white space around it, a byte order mark or a joiner.
func visible(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
}

// reaches reports whether a key with dots names something below the key k that this package reads.
func (s section) reaches(k, name string) bool {
	first, rest, isDotted := strings.Cut(name, ".")
	v, _ := s.find(k)
	inner, ok := v.(section)
	if !ok || !isDotted || !strings.EqualFold(first, k) {
		return false
	}
	if !inner.open {
		return true
	}
	next, _, _ := strings.Cut(rest, ".")
	return slices.ContainsFunc(inner.names(), func(k string) bool { return strings.EqualFold(k, next) })
}

// concerns reports whether a gateway may read a key of that name, however it is spelled, as one that this package reads.
func (s section) concerns(name string) bool {
	return slices.ContainsFunc(s.names(), func(k string) bool { return strings.EqualFold(k, name) || s.reaches(k, name) })
}

// merge refuses a merge key that would bring in something that is read here: it would hide where a value comes from.
func (s section) merge(d *decoder, path string, name, val node) {
	if !s.open {
		d.add(&Problem{Line: name.line, Column: name.column, Key: dotted(path, "<<"), Cause: "a merge key is not read here", Fix: "write the keys out"})
		return
	}
	sources := []*yaml.Node{val.Node}
	if val.Kind == yaml.SequenceNode {
		sources = val.Content
	}
	for _, src := range sources {
		m := use(src)
		for i := 0; i+1 < len(m.Content) && m.Kind == yaml.MappingNode; i += 2 {
			inner := use(m.Content[i])
			if s.concerns(inner.Value) || inner.ShortTag() == "!!merge" {
				d.add(&Problem{
					Line: name.line, Column: name.column, Key: dotted(path, "<<"),
					Cause: "a merge key brings in " + quote(inner.Value), Fix: "write the keys out",
				})
				return
			}
		}
	}
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
