package main

import (
	"context"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

// loadConfig reads the operator's file. Of it a command uses the images, what is waived and required, and what chooses
// the backend and its engine; everything else a call may do comes from its flags.
func (a *app) loadConfig(file, backend string) (*config.Config, error) {
	return config.Load(config.Options{File: file, Backend: backend, LookupEnv: a.lookupEnv})
}

// openBackend opens what the command line, the environment or the file asks for, else the operating system's default.
// auto is the first backend that would run a call with p.
func (a *app) openBackend(ctx context.Context, c *config.Config, p sandbox.ContainerProfile) (sandbox.Backend, error) {
	bc := a.backendConfig(c)
	if c.Backend() != config.Auto {
		return a.open(ctx, c.Backend(), bc)
	}
	var probes []policy.Probe
	for _, name := range policy.Candidates(c) {
		b, err := a.open(ctx, name, bc)
		if err == nil {
			if _, err = b.Ready(ctx, p); err == nil {
				return b, nil
			}
			_ = b.Close() // it was not chosen, and why is told
		}
		probes = append(probes, policy.Probe{Backend: name, Err: err})
	}
	return nil, policy.Select(c, probes).Err()
}

// backendConfig is what the operator's file says to the backends.
func (a *app) backendConfig(c *config.Config) backends.Config {
	var bc backends.Config
	logger := a.logger(c.LogLevel)
	bc.Native.Images, bc.Native.Waivers, bc.Native.Logger = c.Sandbox.Images, c.Waivers(), logger
	bc.Native.Once = true // every command makes one call
	bc.Native.Lazy, bc.Native.Direct = a.lazy, a.lazy
	bc.Docker.Image, bc.Docker.Runtime, bc.Docker.Waivers = c.Sandbox.Image, c.Sandbox.Runtime, c.Waivers()
	bc.Docker.Logger, bc.Docker.Progress = logger, a.progress
	if c.KeepsImageUser() {
		bc.Docker.User = docker.UserImage
	}
	if c.File != "" {
		bc.Native.Protected, bc.Docker.Protected = []string{c.File}, []string{c.File}
	}
	return bc
}
