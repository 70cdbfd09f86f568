package interpreters_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// language is how programs of one language are started: as run_code does it, which TestAsRunCode shows.
type language struct {
	name    string
	argv    []string
	env     []string
	endings []string
	comment string
}

func python() language {
	return language{
		name: "python", argv: []string{"python3"}, endings: []string{".py"}, comment: "#",
		env: []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8"},
	}
}

func node() language {
	return language{name: "node", argv: []string{"node"}, endings: []string{".js", ".mjs", ".cjs"}, comment: "//"}
}

// program is one of the corpus.
type program struct {
	language
	name string
	// files are what is mounted beside and below the main file, by their names.
	files map[string][]byte
	main  string
	args  []string
	vars  []string
	stdin []byte
}

// ends is how the program says that it ends: "exit 0" unless a line of it says otherwise.
func (p program) ends() (how string, said bool) {
	re := regexp.MustCompile(`(?m)^` + p.comment + ` ends: (.+?)\r?$`)
	if m := re.FindSubmatch(p.files[p.main]); m != nil {
		return string(m[1]), true
	}
	return "exit 0", false
}

// corpus reads the programs of a language below a directory.
func corpus(t *testing.T, dir string, l language) []program {
	t.Helper()
	dir = filepath.Join(dir, l.name)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []program
	for _, e := range entries {
		switch {
		case e.IsDir():
			out = append(out, directory(t, filepath.Join(dir, e.Name()), l))
		case slices.Contains(l.endings, filepath.Ext(e.Name())):
			out = append(out, single(t, filepath.Join(dir, e.Name()), l))
		default:
			beside(t, filepath.Join(dir, e.Name()), l)
		}
	}
	return out
}

// single reads a program of one file.
func single(t *testing.T, file string, l language) program {
	t.Helper()
	ending := filepath.Ext(file)
	name := strings.TrimSuffix(filepath.Base(file), ending)
	return about(t, filepath.Dir(file), program{
		language: l, name: name, main: "main" + ending,
		files: map[string][]byte{"main" + ending: read(t, file)},
	})
}

// directory reads a program of several files.
func directory(t *testing.T, dir string, l language) program {
	t.Helper()
	p := program{language: l, name: filepath.Base(dir), files: map[string][]byte{}}
	require.NoError(t, filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		p.files[filepath.ToSlash(name)] = read(t, file)
		return err
	}))
	for _, ending := range l.endings {
		if _, ok := p.files["main"+ending]; ok {
			p.main = "main" + ending
		}
	}
	require.NotEmpty(t, p.main, "%s has a main file", dir)
	return about(t, filepath.Dir(dir), p)
}

// about reads what lies beside a program.
func about(t *testing.T, dir string, p program) program {
	t.Helper()
	lines := func(ending string) []string {
		if text := strings.TrimSuffix(string(optional(t, filepath.Join(dir, p.name+ending))), "\n"); text != "" {
			return strings.Split(text, "\n")
		}
		return nil
	}
	p.stdin, p.vars, p.args = optional(t, filepath.Join(dir, p.name+".stdin")), lines(".env"), lines(".args")
	return p
}

// beside checks that a file which is no program belongs to one.
func beside(t *testing.T, file string, l language) {
	t.Helper()
	name := strings.TrimSuffix(file, filepath.Ext(file))
	require.Contains(t, []string{".stdin", ".env", ".args"}, filepath.Ext(file), file)
	for _, ending := range append(l.endings, "") {
		if _, err := os.Stat(name + ending); err == nil {
			return
		}
	}
	require.Fail(t, "input of no program", file)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

// optional reads a file that need not be there.
func optional(t *testing.T, file string) []byte {
	t.Helper()
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil
	}
	return read(t, file)
}

// written writes the program below a directory. The program may be another user than the caller: everyone can read it.
func (p program) written(t *testing.T, dir string) {
	t.Helper()
	for name, data := range p.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if sub := path.Dir(name); sub != "." {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		}
		require.NoError(t, os.WriteFile(file, data, 0o644))
		require.NoError(t, os.Chmod(file, 0o644))
	}
}
