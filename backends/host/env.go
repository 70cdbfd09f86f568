package host

import (
	"runtime"
	"slices"
	"strings"
)

// Inherited returns the names of the variables that a program gets from its caller without being named.
func Inherited() []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR"}
	if runtime.GOOS == "windows" {
		// Without these few, programs do not find their libraries or their scratch.
		names = append(names, "SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE")
	}
	return names
}

// Filter returns the entries of env whose names are in [Inherited] or in names, each name once, as getenv(3) would find
// it. A name that is not set is left out, and so is one that no variable can have: empty, or with '=', a blank or a NUL.
func Filter(env, names []string) []string {
	var out []string
	var have []string
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\x00") || containsName(have, name) {
			continue
		}
		if containsName(Inherited(), name) || containsName(names, name) {
			have = append(have, name)
			out = append(out, e)
		}
	}
	return out
}

// merge puts the entries of the later lists over those of the earlier.
func merge(lists ...[]string) []string {
	var out []string
	at := map[string]int{}
	for _, e := range slices.Concat(lists...) {
		name, _, _ := strings.Cut(e, "=")
		name = folded(name)
		if i, ok := at[name]; ok {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}

func containsName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return folded(n) == folded(name) })
}

// folded is what the system compares of a name: Windows ignores case.
func folded(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
