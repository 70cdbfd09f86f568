package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

const (
	sandboxPath  = "runtime.sandbox"
	executorPath = "executor"
)

// schema is the whole file: every key that is read, in the order in which it is shown, and the field of c that it is
// read into. It serves reading, the lists of accepted keys, and `toolcell config show` alike.
func (c *Config) schema(home string) section {
	elsewhere := map[string]string{"runtime": "runtime", "sandbox": sandboxPath, executorPath: executorPath}
	return section{open: true, elsewhere: elsewhere, keys: []key{
		{"runtime", section{open: true, elsewhere: elsewhere, keys: []key{
			{"python_bin", text{&c.Runtime.PythonBin, command()}},
			{"tool_timeout", duration{&c.Runtime.ToolTimeout}},
			{"allowed_tool_dirs", list[string]{&c.Runtime.AllowedToolDirs, absolute(home)}},
			{"allow_system_agents", list[string]{&c.Runtime.AllowSystemAgents, agentID()}},
			{"sandbox", c.Sandbox.schema(home)},
		}}},
		{executorPath, c.Executor.schema()},
	}}
}

func (s *Sandbox) schema(home string) section {
	return section{refused: refusedSandbox, keys: slices.Concat([]key{
		{"enabled", boolean{p: &s.disabled, inverted: true}},
		{"mode", word[Mode]{p: &s.Mode, words: []Mode{modeDocker, ModeSandbox, ModeUnsandboxed}}},
		{"binary", word[string]{p: &s.Binary, words: binaryWords(), other: "an absolute path", parse: parseBinary}},
		{"runtime", word[string]{p: &s.Runtime, words: []string{"runsc", "kata"}}},
		{"image", text{&s.Image, image()}},
		{"images", table{&s.Images, image(), root(home)}},
		{"workspace", text{&s.Workspace, absolute(home)}},
		{"roots", list[string]{&s.Roots, absolute(home)}},
	}, s.limits(), []key{
		{"scratch_exec", boolean{p: &s.ScratchExec}},
		{"armed", boolean{p: &s.Armed}},
		{"preload", list[string]{&s.Preload, module()}},
		{"pin", boolean{p: &s.Pin}},
		{"python_tools", word[PythonTools]{p: &s.PythonTools, words: []PythonTools{ToolsContainer, ToolsLimits}}},
		{"run_code", section{keys: []key{{"images", section{keys: []key{
			{"python", text{&s.RunCode.Python, image()}},
			{"node", text{&s.RunCode.Node, image()}},
			{"bash", text{&s.RunCode.Bash, image()}},
		}}}}}},
		{"require", list[sandbox.Guarantee]{&s.Require, guarantee()}},
		{"waive", list[sandbox.Guarantee]{&s.Waive, guarantee()}},
	})}
}

// limits are the keys with numbers. Their ranges are those of [sandbox.ContainerProfile.Validate].
func (s *Sandbox) limits() []key {
	mib := func(p *int, least int, g sandbox.Guarantee) number {
		return number{p: p, unit: "MiB", least: least, most: 1 << 30, guarantee: g}
	}
	l := &s.Limits
	return []key{
		{"cpus", cores{&l.CPUs}},
		{"cpu_seconds", number{p: &l.CPUSeconds, unit: "seconds", least: 1, most: 1 << 30, guarantee: sandbox.LimitCPUTime}},
		{"timeout_seconds", seconds{&l.Wall}},
		{"memory_mb", mib(&l.MemoryMB, sandbox.MinMemoryMB, sandbox.LimitMemory)},
		{"pids", number{p: &s.PIDs, unit: "processes", least: 1, most: 1 << 22, guarantee: sandbox.LimitProcesses}},
		{"open_files", number{p: &l.OpenFiles, unit: "files", least: 8, most: 1 << 20, guarantee: sandbox.LimitFiles}},
		{"file_size_mb", mib(&l.FileSizeMB, 1, sandbox.LimitFiles)},
		{"tmp_mb", mib(&s.TmpMB, 1, sandbox.LimitFiles)},
		{"shm_mb", mib(&s.ShmMB, 1, sandbox.LimitFiles)},
		{"output_kb", number{p: &l.OutputKB, unit: "KiB", least: 1, most: 1 << 20, guarantee: sandbox.LimitOutput}},
	}
}

func (e *Executor) schema() section {
	return section{refused: refusedExecutor, keys: []key{
		{"backend", word[Execution]{p: &e.Backend, words: executions()}},
		{"docker_image", text{&e.Image, image()}},
		{"docker_network", text{&e.Network, network()}},
		{"docker_user", text{&e.User, user()}},
		{"docker_volumes", list[string]{&e.Volumes, volume()}},
	}}
}

func parseBinary(s string) (string, bool) {
	b, err := ParseBackend(s)
	return b, err == nil
}

// command is a program of the host.
func command() form {
	return form{"a program's name or path", func(s string) (string, error) {
		return s, sandbox.ContainerProfile{Interpreters: []string{s}}.Validate()
	}}
}

func module() form {
	return form{"the name of a Python module", func(s string) (string, error) {
		if !sandbox.IsModuleName(s) {
			return "", fmt.Errorf("%s is no name of a module", quote(s))
		}
		return s, nil
	}}
}

func agentID() form {
	return form{"an agent's id", func(s string) (string, error) {
		if s = strings.TrimSpace(s); s == "" {
			return "", errors.New("an empty id")
		}
		if len(s) > 256 {
			return "", fmt.Errorf("%d bytes, more than 256", len(s))
		}
		return s, nil
	}}
}

func image() form {
	return form{`an image's name ("host" is this machine's own programs)`, func(s string) (string, error) {
		if s = strings.TrimSpace(s); s == "" {
			return "", errors.New("an empty name")
		}
		return s, sandbox.ContainerProfile{Image: s}.Validate()
	}}
}

// root is what a name of images stands for.
func root(home string) form {
	dir := absolute(home)
	return form{`"host" or the absolute path of an unpacked root directory`, func(s string) (string, error) {
		if s == sandbox.ImageHost {
			return s, nil
		}
		return dir.check(s)
	}}
}

func network() form {
	return form{`"none" or the name of an engine's network`, func(s string) (string, error) {
		s = strings.TrimSpace(s)
		if strings.EqualFold(s, "host") {
			return "", errors.New("this machine's own network is never granted")
		}
		if strings.EqualFold(s, sandbox.NetworkNone) {
			return sandbox.NetworkNone, nil
		}
		return s, sandbox.ContainerProfile{Network: s}.Validate()
	}}
}

// userImage as executor.docker_user keeps the image's own user.
const userImage = "image"

func user() form {
	return form{"auto, image or uid:gid in numbers, neither of them 0", func(s string) (string, error) {
		if word := fold(s); word == userImage || word == sandbox.UserAuto {
			return word, nil
		}
		_, err := sandbox.ParseUser(s)
		return s, err
	}}
}

// toolTarget is where a tool's own directory is mounted.
const toolTarget = "/tool"

func volume() form {
	return form{"source:target[:options] with absolute paths", func(s string) (string, error) {
		s = strings.TrimSpace(s)
		m, err := sandbox.ParseMount(s)
		if err == nil && (m.Target == toolTarget || strings.HasPrefix(m.Target, toolTarget+"/")) {
			err = fmt.Errorf("%s is where the tool's own directory is", toolTarget)
		}
		return s, err
	}}
}

func guarantee() form {
	all := make([]string, 0, len(sandbox.Guarantees()))
	for _, g := range sandbox.Guarantees() {
		all = append(all, string(g))
	}
	return form{strings.Join(all, ", "), func(s string) (string, error) {
		if sandbox.Guarantee(s).Valid() {
			return s, nil
		}
		if near := nearGuarantees(s, all); len(near) > 0 {
			return "", fmt.Errorf("%s is no guarantee; did you mean %s?", quote(s), orList(near))
		}
		return "", fmt.Errorf("%s is no guarantee", quote(s))
	}}
}

// nearGuarantees are the one that a name misspells, or else those that have the name as a part or begin as it does: "network"
// and "net.off" are near net.none.
func nearGuarantees(name string, all []string) []string {
	if near := nearest(name, all); near != "" {
		return []string{near}
	}
	name = strings.ToLower(name)
	group, _, _ := strings.Cut(name, ".")
	var out []string
	for _, g := range all {
		g0, rest, _ := strings.Cut(g, ".")
		if g0 == group || len(name) > 2 && (strings.HasPrefix(name, g0) || strings.Contains(rest, name)) {
			out = append(out, g)
		}
	}
	return out
}

// reason is what is wrong, without the operation that found it.
func reason(err error) error {
	var e *sandbox.Error
	if errors.As(err, &e) {
		return &sandbox.Error{Kind: e.Kind, Guarantee: e.Guarantee, Cause: e.Cause, Fix: e.Fix}
	}
	return err
}

// refusedSandbox says what to do instead of a key that other versions of a gateway, or later ones of this module, know.
func refusedSandbox(name string) string {
	name = strings.ToLower(name)
	switch name {
	case "container_runtime", "docker_runtime":
		return "use runtime: runsc or kata"
	case "require_signed_image", "cosign_key":
		return "name the image by its digest (image@sha256:...)"
	case "network", "docker_network":
		return "the network is granted to Python tools, run_code and install_library by executor.docker_network"
	case "user", "docker_user":
		return "use executor.docker_user"
	case "volumes", "mounts", "docker_volumes":
		return "builtins see the workspace alone; tools see executor.docker_volumes"
	case "backend":
		return "use binary"
	case "tmpfs_mb":
		return "use tmp_mb"
	}
	return refusedEgress(name)
}

func refusedEgress(name string) string {
	if strings.Contains(name, "egress") || name == "network_allowlist" || name == "allowed_hosts" {
		return "this version has no filtered network: leave it out, or grant a whole one with executor.docker_network on an engine"
	}
	return ""
}

func refusedExecutor(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "workers":
		return "leave it out: every call has a sandbox of its own, and nothing is kept between calls"
	case strings.HasPrefix(name, "ssh_"):
		return "leave it out: tools run on this machine; run the gateway on the other one instead"
	case strings.HasPrefix(name, "cloud_"):
		return "leave it out: tools run on this machine; use backend: docker"
	case name == "docker_runtime" || name == "container_runtime":
		return "use runtime.sandbox.runtime"
	case name == "docker_binary" || name == "binary":
		return "use runtime.sandbox.binary"
	case name == "require_signed_image" || name == "cosign_key":
		return "name the image by its digest (image@sha256:...)"
	}
	return refusedEgress(name)
}
