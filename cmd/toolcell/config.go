package main

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// fileName is a flag that names the operator's file. Without a name, which is what a script's unset variable becomes, it would be
// another file, or none.
type fileName string

var errNoName = errors.New("the file has no name; where none is named it is the first that is found")

// Set implements pflag.Value.
func (n *fileName) Set(s string) error {
	if s == "" {
		return errNoName
	}
	*n = fileName(s)
	return nil
}

// String implements pflag.Value.
func (n *fileName) String() string { return string(*n) }

// Type implements pflag.Value: what the help calls the value.
func (n *fileName) Type() string { return "string" }

// loadConfig reads the operator's file. Of it a command uses the images, what is waived and required, and what chooses
// the backend and its engine; everything else a call may do comes from its flags.
func (a *app) loadConfig(file, backend string) (*config.Config, error) {
	return config.Load(config.Options{File: file, Backend: backend, LookupEnv: a.lookupEnv})
}

// openBackend opens what the command line, the environment or the file asks for, else the operating system's default.
// auto is the first backend that would run a call with p.
func (a *app) openBackend(ctx context.Context, c *config.Config, p sandbox.ContainerProfile) (sandbox.Backend, error) {
	return backends.OpenChosen(ctx, c, a.options(c), p)
}

// options is how a command opens backends. Every command makes one call.
func (a *app) options(c *config.Config) backends.Options {
	o := backends.Options{Logger: a.logger(c.LogLevel), Once: true, Open: a.open}
	o.Backends.Native.Once, o.Backends.Native.Lazy, o.Backends.Native.Direct = true, a.lazy, a.lazy
	o.Backends.Docker.Progress = a.progress
	return o
}
