package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// FuzzParseExecSandbox reads arbitrary command lines of the wrapper, one word a line. What is taken has a command, limits that
// can be meant, and everything after "--" as it was; what is not is an error of one line.
func FuzzParseExecSandbox(f *testing.F) {
	for _, seed := range []string{
		"--cpu=30\n--mem=512\n--nofile=256\n--fsize=64\n--env=A\n--env\nB\n--\npython3\n-c\nx", "--cpu\n1\n--\ntrue",
		"--cpu=-1\n--\ntrue", "--mem=9999999999999999999\n--\ntrue", "--\n", "--env\n--\n--\n--", "--nonsense\n--\ntrue", "", "--cpu",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\n")
		limits, names, argv, err := parseExecSandbox(args)
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.NoError(t, limits.Validate())
		assert.NotEmpty(t, argv)
		assert.NotEmpty(t, argv[0])
		before := len(args) - len(argv) - 1
		assert.Equal(t, "--", args[before])
		assert.Equal(t, args[before+1:], argv)
		assert.LessOrEqual(t, len(names), before)
	})
}
