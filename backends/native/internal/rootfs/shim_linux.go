package rootfs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// shimTarget returns the program that a version manager's shim would start. ok is false for what is no shim: a shim
// lies in a directory "shims" beside one named "versions" (pyenv, rbenv, nodenv) or "installs" (asdf, mise). The
// choice is the one made for the whole user; the environment and the working directory of a gateway decide nothing.
func shimTarget(p string) (target string, ok bool, err error) {
	dir := path.Dir(p)
	if path.Base(dir) != "shims" {
		return "", false, nil
	}
	root := path.Dir(dir)
	if isDir(path.Join(root, "versions")) {
		target, err = versionedTarget(root, path.Base(p))
		return target, true, err
	}
	if isDir(path.Join(root, "installs")) {
		target, err = installedTarget(root, p)
		return target, true, err
	}
	return "", false, nil
}

// versionedTarget reads the version file of a pyenv-like root: names of versions, of which the first that has the
// program counts.
func versionedTarget(root, program string) (string, error) {
	data, err := readSmall(path.Join(root, "version"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the shim of %q: no version is chosen in %q; name the interpreter itself", program, root)
	}
	if err != nil {
		return "", err
	}
	for _, name := range strings.Fields(data) {
		dir, err := versionDir(path.Join(root, "versions"), name)
		if err != nil {
			return "", err
		}
		target := path.Join(dir, "bin", program)
		if dir == "" || !exists(target) {
			continue
		}
		return target, nil
	}
	return "", fmt.Errorf("the shim of %q: none of the versions %q in %q has it; name the interpreter itself", program, strings.Fields(data), root)
}

// versionDir returns the directory of a version: the one of that name, else the newest that the name is a beginning of
// ("3.12" means 3.12.4). "" means that there is none.
func versionDir(versions, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("version %q is no name", name)
	}
	if dir := path.Join(versions, name); isDir(dir) {
		return dir, nil
	}
	list, err := os.ReadDir(versions)
	if err != nil {
		return "", err
	}
	best := ""
	for _, e := range list {
		if strings.HasPrefix(e.Name(), name+".") && (best == "" || compareVersions(e.Name(), best) > 0) {
			best = e.Name()
		}
	}
	if best == "" {
		return "", nil
	}
	return path.Join(versions, best), nil
}

// compareVersions compares the dotted parts as numbers where both are, else as text.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, errX := strconv.Atoi(x)
		n, errY := strconv.Atoi(y)
		if errX != nil || errY != nil {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(m, n)
	})
}

// installedTarget looks among the installations of an asdf-like root. Of several that have the program, the user's
// .tool-versions beside the root decides.
func installedTarget(root, shim string) (string, error) {
	program := path.Base(shim)
	installs := path.Join(root, "installs")
	found, err := installations(installs, shim)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		chosen, err := chosenVersions(path.Join(path.Dir(root), ".tool-versions"))
		if err != nil {
			return "", err
		}
		for _, target := range found {
			if chosen[path.Dir(path.Dir(target))[len(installs)+1:]] {
				return target, nil
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the shim of %q: %d installations in %q may be meant; name the interpreter itself", program, len(found), installs)
	}
	return found[0], nil
}

// installations returns the programs, each once, that a shim may stand for: all in installs/PLUGIN/VERSION/bin, or
// those that asdf's own comment in the shim names.
func installations(installs, shim string) ([]string, error) {
	named, err := shimComments(shim)
	if err != nil {
		return nil, err
	}
	plugins, err := os.ReadDir(installs)
	if err != nil {
		return nil, err
	}
	var found, real []string
	for _, plugin := range plugins {
		versions, err := os.ReadDir(path.Join(installs, plugin.Name()))
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			if key := path.Join(plugin.Name(), v.Name()); len(named) > 0 && !named[key] {
				continue
			}
			target := path.Join(installs, plugin.Name(), v.Name(), "bin", path.Base(shim))
			// mise has links such as "latest" beside the versions.
			r, err := filepath.EvalSymlinks(target)
			if err != nil || slices.Contains(real, r) {
				continue
			}
			found, real = append(found, target), append(real, r)
		}
	}
	return found, nil
}

// shimComments returns the "plugin/version" of each line "# asdf-plugin: plugin version".
func shimComments(shim string) (map[string]bool, error) {
	info, err := os.Lstat(shim)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	data, err := readSmall(shim)
	if err != nil {
		return nil, err
	}
	return pairs(data, "# asdf-plugin: "), nil
}

// chosenVersions reads a .tool-versions. A missing one chooses nothing.
func chosenVersions(file string) (map[string]bool, error) {
	data, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return pairs(data, ""), err
}

// pairs returns the first two words, joined by a slash, of every line that begins with prefix.
func pairs(data, prefix string) map[string]bool {
	out := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(data)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), prefix)
		if words := strings.Fields(rest); ok && len(words) >= 2 {
			out[words[0]+"/"+words[1]] = true
		}
	}
	return out
}

// readSmall reads the first 64 KiB of a file.
func readSmall(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(data), err
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}
