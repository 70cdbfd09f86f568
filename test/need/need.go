// Package need decides what becomes of a test whose machine lacks something: it is skipped, and under
// TOOLCELL_TEST_REQUIRE=1 it fails instead, so that a machine that is to have everything cannot hide what it lacks.
//
// It looks for nothing itself, and protects nothing: it is for tests alone.
package need

import (
	"os"
	"testing"
)

// variable makes what is missing a failure when it is 1.
const variable = "TOOLCELL_TEST_REQUIRE"

// Everything reports whether nothing may be missing.
func Everything() bool { return os.Getenv(variable) == "1" }

// Missing ends t because the machine lacks something, which why names: with a skip, or a failure where nothing may be missing.
func Missing(t testing.TB, why string) {
	t.Helper()
	if Everything() {
		t.Fatalf("%s=1 allows no skip: %s", variable, why)
	}
	t.Skip(why)
}

// NoError ends t so when err is not nil. what says in words what is then missing.
func NoError(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		Missing(t, what+": "+err.Error())
	}
}
