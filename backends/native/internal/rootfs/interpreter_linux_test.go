package rootfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// files is a small tree: a name that ends in "/" is a directory, "-> x" a link, "ELF" a copy of a real program, and
// anything else the content. Files in a directory named bin or shims are executable.
func makeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	program, err := os.ReadFile("/usr/bin/env")
	require.NoError(t, err)
	for name, content := range files {
		p := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		target, isLink := cutLink(content)
		switch {
		case name[len(name)-1] == '/':
			require.NoError(t, os.MkdirAll(p, 0o755))
		case isLink:
			require.NoError(t, os.Symlink(expand(target, root), p))
		case content == "ELF":
			require.NoError(t, os.WriteFile(p, program, 0o755))
		default:
			require.NoError(t, os.WriteFile(p, []byte(expand(content, root)), fileMode(p)))
		}
	}
	return root
}

func cutLink(content string) (string, bool) {
	if len(content) > 3 && content[:3] == "-> " {
		return content[3:], true
	}
	return "", false
}

func expand(s, root string) string {
	return os.Expand(s, func(name string) string {
		if name == "ROOT" {
			return root
		}
		return "$" + name
	})
}

func fileMode(p string) os.FileMode {
	switch filepath.Base(filepath.Dir(p)) {
	case "bin", "shims":
		return 0o755
	}
	return 0o644
}

func TestResolveInterpreterLayouts(t *testing.T) {
	for _, c := range []struct {
		name     string
		files    map[string]string
		path     string
		exe      string
		prefixes []string
		links    map[string]string
	}{
		{
			name: "pyenv shim, exact version",
			files: map[string]string{
				"pyenv/shims/python3":                  "#!/bin/sh\nexit 99\n",
				"pyenv/version":                        "3.11.7\n",
				"pyenv/versions/3.11.7/bin/python3":    "-> python3.11",
				"pyenv/versions/3.11.7/bin/python3.11": "ELF",
				"pyenv/versions/3.12.1/bin/python3":    "ELF",
			},
			path: "pyenv/shims/python3", exe: "pyenv/versions/3.11.7/bin/python3", prefixes: []string{"pyenv/versions/3.11.7"},
		},
		{
			name: "pyenv shim, newest of a line, second name has it",
			files: map[string]string{
				"pyenv/shims/tool":                "#!/bin/sh\n",
				"pyenv/version":                   "system 2.7\n3.12\n",
				"pyenv/versions/2.7.1/bin/x":      "ELF",
				"pyenv/versions/3.12.9/bin/x":     "ELF",
				"pyenv/versions/3.12.10/bin/x":    "ELF",
				"pyenv/versions/3.120.1/bin/x":    "ELF",
				"pyenv/versions/3.12.10/bin/tool": "ELF",
			},
			path: "pyenv/shims/tool", exe: "pyenv/versions/3.12.10/bin/tool", prefixes: []string{"pyenv/versions/3.12.10"},
		},
		{
			name: "asdf shim by its comment",
			files: map[string]string{
				"asdf/shims/node":                      "#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\nexec asdf exec node\n",
				"asdf/installs/nodejs/20.1.0/bin/node": "ELF",
				"asdf/installs/nodejs/22.0.0/bin/node": "ELF",
			},
			path: "asdf/shims/node", exe: "asdf/installs/nodejs/20.1.0/bin/node", prefixes: []string{"asdf/installs/nodejs/20.1.0"},
		},
		{
			name: "asdf shim by the user's choice",
			files: map[string]string{
				".tool-versions":                       "ruby 3.3.0\nnodejs 22.0.0\n",
				"asdf/shims/node":                      "#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\n# asdf-plugin: nodejs 22.0.0\n",
				"asdf/installs/nodejs/20.1.0/bin/node": "ELF",
				"asdf/installs/nodejs/22.0.0/bin/node": "ELF",
			},
			path: "asdf/shims/node", exe: "asdf/installs/nodejs/22.0.0/bin/node", prefixes: []string{"asdf/installs/nodejs/22.0.0"},
		},
		{
			name: "mise shim is a link to the manager, versions have aliases",
			files: map[string]string{
				"opt/bin/mise":                           "ELF",
				"mise/shims/python":                      "-> ${ROOT}/opt/bin/mise",
				"mise/installs/python/3.12.1/bin/python": "ELF",
				"mise/installs/python/latest":            "-> ./3.12.1",
			},
			path: "mise/shims/python", exe: "mise/installs/python/3.12.1/bin/python", prefixes: []string{"mise/installs/python/3.12.1"},
		},
		{
			name:  "nvm is a plain tree",
			files: map[string]string{"nvm/versions/node/v20.1.0/bin/node": "ELF"},
			path:  "nvm/versions/node/v20.1.0/bin/node", exe: "nvm/versions/node/v20.1.0/bin/node", prefixes: []string{"nvm/versions/node/v20.1.0"},
		},
		{
			name: "a link elsewhere to a plain tree",
			files: map[string]string{
				"links/node": "-> ../tools/current/bin/node", "tools/current": "-> v1", "tools/v1/bin/node": "ELF",
			},
			path: "links/node", exe: "tools/v1/bin/node", prefixes: []string{"tools/v1"},
		},
		{
			name:  "several names of one program",
			files: map[string]string{"rust/bin/cargo": "-> rustup", "rust/bin/rustup": "ELF"},
			path:  "rust/bin/cargo", exe: "rust/bin/cargo", prefixes: []string{"rust"},
		},
		{
			name: "a virtual environment and its base, through a link that lies in neither",
			files: map[string]string{
				"venv/pyvenv.cfg":          "include-system-site-packages = false\nHome = ${ROOT}/py/3.12/bin\nversion = 3.12\n",
				"venv/bin/python":          "-> ${ROOT}/py/3.12/bin/python3.12",
				"venv/bin/python3":         "-> python",
				"py/3.12":                  "-> 3.12.4",
				"py/3.12.4/bin/python3.12": "ELF",
			},
			path: "venv/bin/python3", exe: "venv/bin/python3", prefixes: []string{"py/3.12.4", "venv"},
			links: map[string]string{"py/3.12": "3.12.4"},
		},
		{
			name: "a virtual environment with a copy",
			files: map[string]string{
				"venv/pyvenv.cfg": "home=${ROOT}/base/bin\n", "venv/bin/python": "ELF", "base/bin/python3": "ELF",
			},
			path: "venv/bin/python", exe: "venv/bin/python", prefixes: []string{"base", "venv"},
		},
		{
			name: "a script of a virtual environment",
			files: map[string]string{
				"venv/pyvenv.cfg": "home = /usr/bin\n", "venv/bin/python": "-> /usr/bin/env",
				"venv/bin/pip": "#!${ROOT}/venv/bin/python -I\nimport pip\n",
			},
			path: "venv/bin/pip", exe: "venv/bin/pip", prefixes: []string{"venv"},
		},
		{
			name:  "a program that stands alone",
			files: map[string]string{"tools/one/prog": "ELF"},
			path:  "tools/one/prog", exe: "tools/one/prog", prefixes: []string{"tools/one"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := makeTree(t, c.files)
			got, err := ResolveInterpreter(filepath.Join(root, c.path))
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(root, c.exe), got.Exe)
			var prefixes []string
			for _, p := range c.prefixes {
				prefixes = append(prefixes, filepath.Join(root, p))
			}
			assert.Equal(t, prefixes, got.Prefixes)
			links := map[string]string{}
			for _, l := range got.Links {
				rel, err := filepath.Rel(root, l.Path)
				require.NoError(t, err)
				links[rel] = l.Target
			}
			assert.Equal(t, len(c.links), len(links), "%v", got.Links)
			for p, target := range c.links {
				assert.Equal(t, target, links[p])
			}
		})
	}
}

func TestResolveInterpreterRefuses(t *testing.T) {
	root := makeTree(t, map[string]string{
		"a/shims/x": "#!/bin/sh\n", "a/versions/1/bin/y": "ELF",
		"b/shims/x": "#!/bin/sh\n", "b/version": "../../../etc\n", "b/versions/1/bin/x": "ELF",
		"c/shims/x": "#!/bin/sh\n", "c/version": "system\n", "c/versions/1/bin/x": "ELF",
		"d/shims/x": "#!/bin/sh\n", "d/installs/p/1/bin/x": "ELF", "d/installs/p/2/bin/x": "ELF",
		"loop/a": "-> b", "loop/b": "-> a",
		"script/bin/self":       "#!${ROOT}/script/bin/self\n",
		"script/bin/relative":   "#!python\n",
		"person/.local/bin/x":   "ELF",
		"wide/bin/x":            "ELF",
		"wide/.ssh/id_ed25519":  "secret",
		"venv/pyvenv.cfg":       "home = relative/bin\n",
		"venv/bin/python":       "ELF",
		"gone/pyvenv.cfg":       "home = ${ROOT}/nowhere/bin\n",
		"gone/bin/python":       "ELF",
		"plain/bin/text":        "not a program\n",
		"plain/lib/notexec.txt": "x",
	})
	for p, why := range map[string]string{
		"a/shims/x": "no version is chosen", "b/shims/x": "is no name", "c/shims/x": "none of the versions",
		"d/shims/x": "2 installations", "loop/a": "lead to each other", "script/bin/self": "interpret each other",
		"script/bin/relative": "absolute path", "person/.local/bin/x": "personal data", "wide/bin/x": "also holds .ssh",
		"venv/bin/python": "not an absolute path", "gone/bin/python": "nowhere", "plain/bin/text": "neither a binary",
		"plain/lib/notexec.txt": "not executable", "plain/bin": "not executable", "missing": "not found",
	} {
		got, err := ResolveInterpreter(filepath.Join(root, p))
		require.Error(t, err, "%s: %+v", p, got)
		var e *sandbox.Error
		require.ErrorAs(t, err, &e, p)
		assert.ErrorContains(t, err, why, p)
	}
	_, err := ResolveInterpreter(filepath.Join(root, "missing"))
	assert.ErrorIs(t, err, sandbox.ErrNotFound)
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	_, err = ResolveInterpreter(filepath.Join(root, "plain/lib/notexec.txt"))
	assert.ErrorIs(t, err, sandbox.ErrNotExecutable)
	_, err = ResolveInterpreter("/usr/bin/env", root)
	assert.NoError(t, err)
	_, err = ResolveInterpreter(filepath.Join(root, "a/versions/1/bin/y"), filepath.Join(root, "a"))
	assert.ErrorIs(t, err, sandbox.ErrRefused)
	for _, p := range []string{"", "python3", "/usr/../usr/bin/env", "/usr/bin/"} {
		_, err := ResolveInterpreter(p)
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "%q", p)
	}
}

// The dynamic loader of a store of its own is not in the sandbox, so the program could not start there.
func TestResolveInterpreterForeignLoader(t *testing.T) {
	root := makeTree(t, map[string]string{"py/bin/python": "ELF"})
	program, err := os.ReadFile("/usr/bin/env")
	require.NoError(t, err)
	loader := loaderOf(t, "/usr/bin/env")
	at := indexOf(program, loader+"\x00")
	require.Positive(t, at)
	copy(program[at:], "/nix/"+loader[5:])
	p := filepath.Join(root, "py/bin/python")
	require.NoError(t, os.WriteFile(p, program, 0o755))
	_, err = ResolveInterpreter(p)
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	assert.ErrorContains(t, err, "/nix/")
}

func TestResolveInterpreterOfTheSystem(t *testing.T) {
	got, err := ResolveInterpreter("/usr/bin/env")
	require.NoError(t, err)
	assert.Equal(t, Interpreter{Exe: "/usr/bin/env"}, got)
}

// Whatever python3 the PATH of this machine names has to resolve, and what it resolves to has to run without it.
func TestResolveInterpreterOfThisMachine(t *testing.T) {
	found, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in PATH") // Not a feature of the kernel: the machine has nothing to resolve.
	}
	got, err := ResolveInterpreter(found)
	require.NoError(t, err)
	cmd := exec.Command(got.Exe, "-c", "import sys; print(sys.prefix)")
	cmd.Env = []string{"PATH=/nonexistent", "HOME=/nonexistent"}
	out, err := cmd.Output()
	require.NoError(t, err)
	prefix := string(out[:len(out)-1])
	assert.True(t, inHostImage(prefix) || len(got.Prefixes) > 0 && (prefix == got.Prefixes[0] || isBelow(prefix, got.Prefixes[0])), prefix)
}
