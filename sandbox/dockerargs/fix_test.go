package dockerargs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// What is nearly right is told what to write.
func TestFixes(t *testing.T) {
	for line, want := range map[string]string{
		"--memory 64":         `"64" is not a whole, positive number of MiB (a number alone is bytes: write 64m)`,
		"--memory 67108865":   "(write one like 64m)",
		"--output-limit 10":   "(a number alone is bytes: write 10k)",
		"--ulimit fsize=1000": "(write one like fsize=67108864, which is 64 MiB)",
		"--ulimit nofile":     "(write one like nofile=256)",
		"--timeout 0":         `"0" is not positive, and every call has a limit (write one like 30s or 2m)`,
		"--memory 0":          "every call has a limit (name a size like 512m)",
		"--user 1000":         "(write 1000:1000)",
	} {
		_, err := dockerargs.Parser{}.Parse(strings.Fields(line + " host true"))
		assert.ErrorContains(t, err, want, line)
	}
}

// An error is JSON where JSON was asked for, before the flag that was not taken or after it.
func TestErrorAsJSON(t *testing.T) {
	for line, want := range map[string]bool{
		"--json --foo host true": true, "--foo --json host true": true, "--foo value --json host true": true, "--foo=value -i --json host true": true,
		"--memory 64 --json host true": true, "--foo --memory 64m -e A --json=true host true": true, "--foo": false, "--foo host true --json": false,
		"--foo=x host --json": false, "--foo -- --json": false, "--foo -w --json host true": false, "--foo --json=false host": false,
	} {
		inv, err := dockerargs.Parser{}.Parse(strings.Fields(line))
		require.Error(t, err, line)
		assert.Equal(t, want, inv.JSON, line)
	}
}
