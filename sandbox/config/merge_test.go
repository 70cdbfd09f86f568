package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A merge key brings in nothing that a gateway may read as a key of this package, however it is spelled.
func TestMergeKeys(t *testing.T) {
	for _, brought := range []string{
		"sandbox: {mode: unsandboxed}", "Sandbox: {mode: unsandboxed}", "sandbox.mode: unsandboxed", "SANDBOX.mode: unsandboxed",
		"? *name\n  : {mode: unsandboxed}",
	} {
		got := refused(t, "name: &name sandbox\nbase: &base\n  "+brought+"\nruntime:\n  <<: *base\n")
		assert.Contains(t, got, "runtime.<<: a merge key brings in", brought)
	}
	c := parse(t, "base: &base {port: 1, sandboxes.mode: x}\nruntime:\n  <<: *base\n")
	assert.False(t, c.Sandbox.Unsandboxed(), "other programs' keys are passed over")
}
