package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/soulacy/toolcell/sandbox"
)

// config is the part of the operator's file that this command needs. Everything else a call may do comes from its
// flags.
type config struct {
	path    string
	images  map[string]string
	waivers []sandbox.Waiver
	require []sandbox.Guarantee
}

// configFile is where the keys stand in the file.
type configFile struct {
	Runtime struct {
		Sandbox struct {
			Images  map[string]string   `yaml:"images"`
			Waive   []sandbox.Guarantee `yaml:"waive"`
			Require []sandbox.Guarantee `yaml:"require"`
		} `yaml:"sandbox"`
	} `yaml:"runtime"`
}

// loadConfig reads the file that --config or TOOLCELL_CONFIG names, else the user's, else the machine's. Only a named
// file must exist.
func (a *app) loadConfig(named string) (config, error) {
	if named == "" {
		named, _ = a.lookupEnv("TOOLCELL_CONFIG")
	}
	if named != "" {
		return readConfig(named)
	}
	for _, name := range a.configPaths() {
		c, err := readConfig(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return c, err
	}
	return config{}, nil
}

func (a *app) configPaths() []string {
	dir, _ := a.lookupEnv("XDG_CONFIG_HOME")
	if home, _ := a.lookupEnv("HOME"); !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".config")
	}
	var out []string
	if filepath.IsAbs(dir) {
		out = append(out, filepath.Join(dir, "toolcell", "config.yaml"))
	}
	return append(out, "/etc/toolcell/config.yaml")
}

func readConfig(name string) (config, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return config{}, configError(name, err)
	}
	if err := checkOwnership(abs); err != nil {
		return config{}, configError(abs, err)
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return config{}, configError(abs, err)
	}
	var docs []configFile // an empty file has none
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		return config{}, configError(abs, err)
	}
	if len(docs) > 1 {
		return config{}, configError(abs, fmt.Errorf("%d documents in one file", len(docs)))
	}
	s := append(docs, configFile{})[0].Runtime.Sandbox
	c := config{path: abs, images: s.Images, require: s.Require}
	for _, g := range slices.Concat(s.Waive, s.Require) {
		if !g.Valid() {
			return config{}, configError(abs, fmt.Errorf("%q is no guarantee; `toolcell guarantees` lists them", string(g)))
		}
	}
	for _, g := range s.Waive {
		c.waivers = append(c.waivers, sandbox.Waiver{Guarantee: g, Reason: abs})
	}
	return c, nil
}

// checkOwnership refuses a file that others may write: it can hold waivers.
func checkOwnership(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write it (mode %04o); chmod go-w it", info.Mode().Perm())
	}
	return nil
}

func configError(name string, err error) error {
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "configuration " + name, Cause: err}
}
