package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
			// Others are keys for other programs that read the same file; see gatewayKeys.
			Others map[string]yaml.Node `yaml:",inline"`
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
	data, err := readOwn(abs)
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
	for _, key := range slices.Sorted(maps.Keys(s.Others)) {
		if !slices.Contains(gatewayKeys(), key) {
			return config{}, configError(abs, fmt.Errorf("runtime.sandbox.%s is no key; those read here are images, require and waive", key))
		}
	}
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

// gatewayKeys are the keys of runtime.sandbox that a gateway reads from the same file and this command passes over. Any
// other is a misspelt one, and must not make a requirement disappear.
func gatewayKeys() []string {
	return []string{
		"enabled", "mode", "binary", "runtime", "image", "workspace", "roots", "cpus", "cpu_seconds", "timeout_seconds",
		"memory_mb", "pids", "open_files", "file_size_mb", "tmp_mb", "shm_mb", "output_kb", "scratch_exec", "python_tools", "run_code",
	}
}

// maxConfig bounds a configuration file.
const maxConfig = 1 << 20

// readOwn reads a file that only root and the caller can have written: it can hold waivers. What is looked at is what is
// read.
func readOwn(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file") // before it is opened: a pipe would wait for its writer
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkOwnership(info); err != nil {
		return nil, err
	}
	return readBounded(f, maxConfig)
}

// readBounded reads to the end, which must come within max bytes.
func readBounded(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("it is larger than %d bytes", max)
	}
	return data, err
}

// checkOwnership refuses a file that somebody else than root and the caller can write.
func checkOwnership(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write it (mode %04o); chmod go-w it", info.Mode().Perm())
	}
	if uid, ok := owner(info); ok && uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("it belongs to uid %d, which is neither root nor the caller", uid)
	}
	return nil
}

func configError(name string, err error) error {
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "configuration " + name, Cause: err}
}
