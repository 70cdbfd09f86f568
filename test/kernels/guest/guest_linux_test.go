package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/kernels/report"
)

func TestCount(t *testing.T) {
	r, err := count("s", []byte(`{"Action":"run","Test":"A"}
{"Action":"output","Test":"A","Output":"fine\n"}
{"Action":"pass","Test":"A"}
{"Action":"output","Test":"B","Output":"not here\n"}
{"Action":"skip","Test":"B"}
{"Action":"output","Test":"C","Output":"bad\n"}
{"Action":"fail","Test":"C"}
{"Action":"fail"}
`))
	require.NoError(t, err)
	assert.Equal(t, &report.SuiteResult{Name: "s", Passed: 1, Skipped: 1, Failed: 2, Skips: []string{"B"}, Failures: "bad\n"}, r)
	_, err = count("s", []byte("panic: nothing\n"))
	assert.Error(t, err)
	r, err = count("s", []byte(`{"Action":"pass"}`))
	require.NoError(t, err)
	assert.False(t, r.OK(), "a suite without a test proves nothing")
}

// The fix is a command, not a text to understand.
func TestRootCommand(t *testing.T) {
	m := rootCommand.FindStringSubmatch("give this user a systemd of its own (as root: loginctl enable-linger 1001), or waive the limits")
	require.NotNil(t, m)
	assert.Equal(t, "loginctl enable-linger 1001", m[1])
	assert.Nil(t, rootCommand.FindStringSubmatch("run it as a service with Delegate=yes"))
}

func TestRefusalIsNoResult(t *testing.T) {
	r := reply{Error: &struct{ Kind, Message, Guarantee, Cause, Fix string }{Message: "no cgroup"}}
	assert.ErrorContains(t, r.is("exited", ""), "no cgroup")
	assert.NoError(t, reply{Status: "exited", Stdout: "x"}.is("exited", "x"))
	assert.Error(t, reply{Status: "oom"}.is("exited", ""))
	assert.Error(t, reply{Status: "exited", Stdout: "y"}.is("exited", "x"))
}
