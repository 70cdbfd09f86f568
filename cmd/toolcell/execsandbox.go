package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/sandbox"
)

// execSandboxName is the hidden command that gateways put before a tool's command line, in the place of their own:
//
//	toolcell __exec-sandbox --cpu=SECONDS --mem=MB --nofile=N --fsize=MB --env=NAME... -- COMMAND...
//
// It becomes the command under these limits, with a filtered environment. That guards against exhaustion; it is no
// boundary.
const execSandboxName = "__exec-sandbox"

const execSandboxUsage = "usage: toolcell " + execSandboxName + " [--cpu SECONDS] [--mem MIB] [--nofile N] [--fsize MIB] [--env NAME]... -- COMMAND..."

// Its exit codes, by which gateways know it, beside those of the command.
const (
	exitUsage   exitCode = 2
	exitRefused exitCode = 126 // a limit cannot be set
	exitNoExec  exitCode = 127 // the command cannot be started
)

// execSandbox returns only when it did not become the command.
func execSandbox(args, env []string, stderr io.Writer) exitCode {
	limits, names, argv, err := parseExecSandbox(args)
	if err != nil {
		fmt.Fprintln(stderr, "toolcell: "+execSandboxName+": "+escapeText(err.Error())+" ("+execSandboxUsage+")")
		return exitUsage
	}
	for _, name := range limits.Skipped() {
		fmt.Fprintf(stderr, "toolcell: no limit of %s is set: this system does not keep it\n", name)
	}
	err = host.Wrapper{Argv: argv, Env: host.Filter(env, names), Limits: limits}.Exec()
	if errors.Is(err, sandbox.ErrInvalid) {
		fmt.Fprintln(stderr, "toolcell: "+escapeText(err.Error()))
		return exitNoExec
	}
	fmt.Fprintln(stderr, "toolcell: refusing execution: "+escapeText(err.Error()))
	return exitRefused
}

// parseExecSandbox reads the flags, in the form --name=value or --name value, up to the "--" that has to follow.
func parseExecSandbox(args []string) (limits host.Rlimits, names, argv []string, err error) {
	numbers := map[string]*int{
		"--cpu": &limits.CPUSeconds, "--mem": &limits.MemoryMB, "--nofile": &limits.OpenFiles, "--fsize": &limits.FileSizeMB,
	}
	for len(args) > 0 && args[0] != "--" {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if numbers[name] == nil && name != "--env" {
			return limits, nil, nil, fmt.Errorf("%.200q is none of --cpu, --mem, --nofile, --fsize, --env and no \"--\"", name)
		}
		if !joined {
			if len(args) == 0 {
				return limits, nil, nil, fmt.Errorf("%s has no value", name)
			}
			value, args = args[0], args[1:]
		}
		if name == "--env" {
			names = append(names, value)
			continue
		}
		if *numbers[name], err = strconv.Atoi(value); err != nil {
			return limits, nil, nil, fmt.Errorf("%s: %.200q is no number", name, value)
		}
	}
	if len(args) < 2 || args[1] == "" {
		return limits, nil, nil, errors.New(`no command after "--"`)
	}
	return limits, names, args[1:], limits.Validate()
}
