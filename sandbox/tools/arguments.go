package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// MaxArguments is how large the arguments of a call may be, in bytes of JSON.
const MaxArguments = 128 << 20

// arguments are the JSON of every tool; each tool has its own set.
type (
	codeJSON struct {
		Language  string  `json:"language"`
		Code      string  `json:"code"`
		Timeout   seconds `json:"timeout_seconds"`
		Network   bool    `json:"network"`
		Stdin     string  `json:"stdin"`
		Isolation string  `json:"isolation"`
	}
	shellJSON struct {
		Command    string  `json:"command"`
		WorkingDir string  `json:"working_dir"`
		Timeout    seconds `json:"timeout"`
		Isolation  string  `json:"isolation"`
	}
	scriptJSON struct {
		Path      string   `json:"path"`
		Args      []string `json:"args"`
		Isolation string   `json:"isolation"`
	}
	evalJSON struct {
		Code      string `json:"code"`
		Isolation string `json:"isolation"`
	}
	installJSON struct {
		Manager   string `json:"manager"`
		Package   string `json:"package"`
		Version   string `json:"version"`
		Target    string `json:"target"`
		Isolation string `json:"isolation"`
	}
	writeJSON struct {
		Path      string  `json:"path"`
		Content   *string `json:"content"` // "" is a content, and none is not: it would empty the file
		Isolation string  `json:"isolation"`
	}
	readJSON struct {
		Path      string `json:"path"`
		Offset    int64  `json:"offset"`
		Limit     int64  `json:"limit"`
		Isolation string `json:"isolation"`
	}
	listJSON struct {
		Path      string `json:"path"`
		Recursive bool   `json:"recursive"`
		Isolation string `json:"isolation"`
	}
	downloadJSON struct {
		URL       string `json:"url"`
		Path      string `json:"path"`
		Isolation string `json:"isolation"`
	}
)

// seconds is a time that models write as a number or as a number in a string.
type seconds time.Duration

// UnmarshalJSON implements [json.Unmarshaler]. What is too large for a time is the largest one.
func (s *seconds) UnmarshalJSON(b []byte) error {
	word := string(b)
	if word == "null" {
		return nil
	}
	var inner string
	if json.Unmarshal(b, &inner) == nil {
		word = strings.TrimSpace(inner)
	}
	f, err := strconv.ParseFloat(word, 64)
	if math.IsNaN(f) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("a timeout has to be a number of seconds, and %s is none", short(string(b)))
	}
	const most = float64(math.MaxInt64/int64(time.Second)) - 1
	*s = seconds(math.Max(-most, math.Min(f, most)) * float64(time.Second))
	return nil
}

// decode reads the arguments of a tool. No arguments at all are an empty object.
func decode[T any](tool Name, raw json.RawMessage) (T, error) {
	var v T
	if len(raw) > MaxArguments {
		return v, sandbox.Invalid(string(tool), "arguments: %d bytes, more than %d", len(raw), MaxArguments)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if _, err := SplitArguments(raw, argumentNames(reflect.TypeFor[T]())); err != nil {
		return v, sandbox.Invalid(string(tool), "arguments: %w", err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, sandbox.Invalid(string(tool), "arguments: %w", inWords(err))
	}
	return v, nil
}

// argumentNames are the names of a tool's arguments.
func argumentNames(arguments reflect.Type) []string {
	var names []string
	for i := range arguments.NumField() {
		names = append(names, arguments.Field(i).Tag.Get("json"))
	}
	return names
}

// Argument is one of a call's arguments.
type Argument struct {
	Name  string
	Value json.RawMessage
}

// SplitArguments takes a JSON object of arguments apart, in the order in which they are there. It refuses one that two readers
// could understand differently: whoever looked at a call before, to allow it or to add to it, has to have seen what runs.
// Package json takes "Command" for "command", and the last of two.
func SplitArguments(object json.RawMessage, known []string) ([]Argument, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, cmp.Or(err, errors.New("not a JSON object"))
	}
	var all []Argument
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		s, ok := name.(string)
		switch {
		case !ok || !slices.Contains(known, s):
			return nil, fmt.Errorf("unknown field %s (accepted: %s)", quoted(s), strings.Join(known, ", "))
		case slices.ContainsFunc(all, func(a Argument) bool { return a.Name == s }):
			return nil, fmt.Errorf("%s is there twice", quoted(s))
		}
		a := Argument{Name: s}
		if err := d.Decode(&a.Value); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	if _, err := d.Token(); err != nil { // its end
		return nil, io.ErrUnexpectedEOF
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return all, nil
}

// inWords says of an argument of a wrong type what it has to be, for a model that knows no types of Go.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Slice: "a list",
	}[wrong.Type.Kind()]
	return fmt.Errorf("%s has to be %s, not a JSON %s", wrong.Field, cmp.Or(want, "something else"), wrong.Value)
}
