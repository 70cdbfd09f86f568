package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/soulacy/toolcell/sandbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// boolean is true or false. inverted ones mean their opposite.
type boolean struct {
	p        *bool
	inverted bool
}

func (b boolean) accepts() string { return "true or false" }

func (b boolean) decode(d *decoder, path string, n node) {
	on := n.Value == "true"
	if !n.is("!!bool") || !on && n.Value != "false" {
		d.wrong(n, path, n.describe()+" is neither true nor false"+unquote(n), b.accepts())
		return
	}
	*b.p = on != b.inverted
}

// unquote says of what is in quotes that it is text for that.
func unquote(n node) string {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return " but text, being in quotes"
	}
	return ""
}

// word is one of a few words; "" is the default.
type word[T ~string] struct {
	p     *T
	words []T
	other string // what else is taken, for people
	parse func(string) (T, bool)
}

func (w word[T]) accepts() string {
	all := make([]string, 0, len(w.words)+1)
	for _, s := range w.words {
		all = append(all, string(s))
	}
	if w.other != "" {
		all = append(all, w.other)
	}
	return orList(all)
}

func (w word[T]) decode(d *decoder, path string, n node) {
	if n.is("!!str") && strings.TrimSpace(n.Value) == "" {
		return
	}
	v, ok := T(fold(n.Value)), false
	if w.parse != nil {
		v, ok = w.parse(n.Value)
	} else {
		ok = slices.Contains(w.words, v)
	}
	if !ok || !n.is("!!str") {
		d.wrong(n, path, n.describe()+" is not known", w.accepts())
		return
	}
	*w.p = v
}

// number is a whole number of something; 0 leaves the default.
type number struct {
	p         *int
	unit      string
	least     int
	most      int
	guarantee sandbox.Guarantee // what running without the limit would give up
}

func (v number) accepts() string {
	return strings.TrimRight(fmt.Sprintf("0 for the default, or %d to %d %s", v.least, v.most, v.unit), " ")
}

func (v number) decode(d *decoder, path string, n node) {
	i, cause := wholeNumber(n)
	switch {
	case cause != "":
		d.wrong(n, path, cause, v.accepts())
	case i < 0:
		d.add(&Problem{
			Line: n.line, Column: n.column, Key: path, Cause: n.Value + " must not be negative", Accepted: v.accepts(),
			Fix: "running without the limit takes waive: [" + string(v.guarantee) + "]",
		})
	case i > int64(v.most):
		d.wrong(n, path, n.Value+" is too large", v.accepts())
	case i > 0 && i < int64(v.least):
		d.wrong(n, path, n.Value+" is too small", v.accepts())
	case i > 0:
		*v.p = int(i)
	}
}

// wholeNumber reads a number as a person means it: YAML's other notations (010, 0x10, 1_000) mean different things to
// different readers.
func wholeNumber(n node) (int64, string) {
	i, err := strconv.ParseInt(n.Value, 10, 64)
	outOfRange := err != nil && n.Kind == yaml.ScalarNode && len(n.Value) < 400 && decimal(n.Value)
	switch {
	case !n.is("!!int") && !outOfRange:
		return 0, n.describe() + " is no whole number" + unquote(n)
	case outOfRange && strings.HasPrefix(n.Value, "-"):
		return math.MinInt64, ""
	case outOfRange:
		return math.MaxInt64, ""
	case err != nil || strconv.FormatInt(i, 10) != n.Value:
		return 0, n.describe() + " is not written as a plain decimal number"
	default:
		return i, ""
	}
}

// decimal reports whether s is a whole number without superfluous zeros, as a person writes one.
func decimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return digits(s) && (s[0] != '0' || s == "0")
}

// fraction reports whether s is a decimal number with or without a fraction: 2, 0.5, .5.
func fraction(s string) bool {
	whole, part, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return (decimal(whole) && whole[0] != '-' || whole == "" && dotted) && (!dotted || digits(part))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// cores is a number of processors; 0 leaves the default.
type cores struct{ p *float64 }

func (cores) accepts() string { return "0 for the default, or 0.01 to 65536 cores" }

func (v cores) decode(d *decoder, path string, n node) {
	if !n.is("!!int") && !n.is("!!float") || !fraction(n.Value) {
		d.wrong(n, path, n.describe()+" is no number of cores"+unquote(n), v.accepts())
		return
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case f < 0:
		d.add(&Problem{
			Line: n.line, Column: n.column, Key: path, Cause: n.Value + " must not be negative", Accepted: v.accepts(),
			Fix: "running without the limit takes waive: [" + string(sandbox.LimitCPU) + "]",
		})
	case err != nil || f > 1<<16 || f > 0 && f < 0.01:
		d.wrong(n, path, truncate(n.Value)+" is out of range", v.accepts())
	case f > 0:
		*v.p = f
	}
}

// maxWall is the longest call, in seconds: a year.
const maxWall = 366 * 24 * 60 * 60

// seconds is a duration that the file gives in whole seconds; 0 leaves the default.
type seconds struct{ p *time.Duration }

func (seconds) limit(p *int) number {
	return number{p: p, unit: "seconds", least: 1, most: maxWall, guarantee: sandbox.LimitWall}
}
func (v seconds) accepts() string { return v.limit(nil).accepts() }

func (v seconds) decode(d *decoder, path string, n node) {
	s := 0
	v.limit(&s).decode(d, path, n)
	if s > 0 {
		*v.p = time.Duration(s) * time.Second
	}
}

// duration is a duration in Go's notation; 0 leaves the default.
type duration struct{ p *time.Duration }

func (duration) accepts() string { return `a duration such as "30s" or "2m", at most a year` }

func (v duration) decode(d *decoder, path string, n node) {
	t, err := time.ParseDuration(strings.TrimSpace(n.Value))
	switch {
	case n.is("!!str") && n.Value == "" || n.is("!!int") && n.Value == "0":
	case !n.is("!!str") || err != nil || t < 0 || t > maxWall*time.Second:
		d.wrong(n, path, n.describe()+" is no such duration", v.accepts())
	case t > 0:
		*v.p = t
	}
}

// form checks one string and returns it as it is meant.
type form struct {
	what  string // what is accepted
	check func(string) (string, error)
}

// accepted is what is accepted. A list that takes lines by itself is told once for a file.
func (f form) accepted(d *decoder) string {
	const long = 200
	if len(f.what) > long && d.told[f.what] {
		return ""
	}
	d.told[f.what] = true
	return f.what
}

// read applies the form to a node. ok is false when d was told what is wrong.
func (f form) read(d *decoder, path string, n node) (s string, ok bool) {
	if !n.is("!!str") {
		cause := n.describe() + " is no text"
		if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
			cause += "; put it in quotes if it is meant to be"
		}
		d.wrong(n, path, cause, f.accepted(d))
		return "", false
	}
	s, err := f.check(n.Value)
	if err != nil {
		d.add(&Problem{Line: n.line, Column: n.column, Key: path, Cause: reason(err).Error(), Accepted: f.accepted(d), err: reason(err)})
		return "", false
	}
	return s, true
}

// text is one string; "" leaves the default.
type text struct {
	p    *string
	form form
}

func (t text) accepts() string { return t.form.what }

func (t text) decode(d *decoder, path string, n node) {
	if n.is("!!str") && strings.TrimSpace(n.Value) == "" {
		return
	}
	if s, ok := t.form.read(d, path, n); ok {
		*t.p = s
	}
}

// list is a list of strings of one form, each at most once.
type list[T ~string] struct {
	p    *[]T
	form form
}

func (l list[T]) accepts() string { return "a list, each item " + l.form.what }

func (l list[T]) decode(d *decoder, path string, n node) {
	if n.Kind != yaml.SequenceNode {
		accepted := "a list"
		if each := l.form.accepted(d); each != "" {
			accepted += ", each item " + each
		}
		d.wrong(n, path, n.describe()+" is no list", accepted)
		return
	}
	out := make([]T, 0, len(n.Content))
	seen := make(map[string]bool, len(n.Content))
	for _, item := range n.Content {
		s, ok := l.form.read(d, path, use(item))
		switch {
		case !ok:
		case seen[s]:
			d.wrong(use(item), path, quote(s)+" is listed twice", "")
		default:
			seen[s] = true
			out = append(out, T(s))
		}
	}
	*l.p = out
}

// table maps names of one form to values of another.
type table struct {
	p     *map[string]string
	names form
	form  form
}

func (t table) accepts() string { return "a mapping from " + t.names.what + " to " + t.form.what }

func (t table) decode(d *decoder, path string, n node) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, n.describe()+" is no mapping", t.accepts())
		return
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := use(n.Content[i])
		name, ok := t.names.read(d, path, at)
		if !ok {
			continue
		}
		if _, twice := out[name]; twice {
			d.wrong(at, path, quote(name)+" is there twice", "")
			continue
		}
		if s, ok := t.form.read(d, dotted(path, truncate(name)), use(n.Content[i+1])); ok {
			out[name] = s
		}
	}
	*t.p = out
}

// absolute is a path of this host, "~/" being the home directory.
func absolute(home string) form {
	what := "an absolute path, or one that begins with ~/"
	return form{what, func(s string) (string, error) {
		if rest, ok := strings.CutPrefix(s, "~/"); ok && filepath.IsAbs(home) {
			return filepath.Join(home, rest), nil
		}
		if !filepath.IsAbs(s) || strings.ContainsRune(s, 0) {
			return "", fmt.Errorf("%s is no absolute path", quote(s))
		}
		return filepath.Clean(s), nil
	}}
}
