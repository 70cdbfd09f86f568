package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
)

// mcpProgram is the program that is the server. It is not part of this one, whose start every call of run waits for.
const mcpProgram = "toolcell-mcp"

func (a *app) mcpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve run_code, shell_exec and files to an MCP client",
		Long: "mcp serves tools to a client of the Model Context Protocol, over stdin and stdout or over HTTP. It is the program\n" +
			mcpProgram + " beside this one. `toolcell mcp --help` has its flags.",
		Example:            "  claude mcp add toolcell -- toolcell mcp",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := beside(mcpProgram)
			if err != nil {
				return err
			}
			return become(program, args)
		},
	}
}

// beside finds a program of this module where this one is, and nowhere else.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", &sandbox.Error{Kind: sandbox.KindUnavailable, Op: name, Cause: err}
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	program := filepath.Join(filepath.Dir(self), name)
	info, err := os.Stat(program)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: program, Cause: errors.New("it is not there"),
			Fix: "build it there: go build -o " + program + " github.com/soulacy/toolcell/cmd/" + mcpProgram,
		}
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no program")
	case err == nil:
		err = trusted(info)
	}
	if err != nil {
		return "", &sandbox.Error{Kind: sandbox.KindRefused, Op: program, Cause: err}
	}
	return program, nil
}

// becomeError says that a program could not be started.
func becomeError(program string, err error) error {
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: program, Cause: fmt.Errorf("start it: %w", err)}
}
