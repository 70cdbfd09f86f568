package scripts_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonField checks a field of the JSON on stdout, which must be one document: json PATH REGEXP. PATH is names and
// indexes joined by dots. Strings are compared as they are, everything else as JSON.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json PATH REGEXP")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	value := doc
	for _, key := range strings.Split(args[0], ".") {
		next, ok := child(value, key)
		if !ok {
			ts.Fatalf("no %q in %v", args[0], doc)
		}
		value = next
	}
	text, ok := value.(string)
	if !ok {
		b, err := json.Marshal(value)
		ts.Check(err)
		text = string(b)
	}
	re, err := regexp.Compile(`\A(?s:` + args[1] + `)\z`)
	ts.Check(err)
	if !re.MatchString(text) {
		ts.Fatalf("%s is %q, want %s", args[0], text, args[1])
	}
}

func child(value any, key string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[key]
		return next, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	default:
		return nil, false
	}
}
