package engines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// buildTimeout bounds the making of a Debian, and of nerdctl, with everything that is fetched for it.
const buildTimeout = 8 * time.Minute

// part is one of the layers that a Debian comes in: packages, with what they depend on and the parts before it lack. Their
// maintainer scripts are not run: nearly nothing of what they do is needed to run a program, and a whole debootstrap takes
// minutes where this takes half of one.
type part struct {
	name     string
	packages []string
}

// The names of the parts.
const (
	pythonPart    = "python"
	languagesPart = "languages"
)

// debianParts are the parts, in the order in which they lie on each other.
func debianParts() []part {
	return []part{
		{pythonPart, []string{"base-files", "base-passwd", "coreutils", "dash", "findutils", "grep", "mawk", "python3", "sed", "util-linux"}},
		{languagesPart, []string{"bash", "diffutils", "nodejs"}},
	}
}

// cache returns this package's own directory below the user's cache directory.
func cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "toolcell", "engines")
	return dir, os.MkdirAll(dir, 0o700)
}

// cached returns the path of a file or directory in the cache, which build makes when it is not there. Two processes that
// want the same one at once build it once.
func cached(name string, build func(to string) error) (string, error) {
	dir, err := cache()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	unfinished := path + ".part"
	if err := os.RemoveAll(unfinished); err != nil { // of a process that was killed
		return "", err
	}
	if err := build(unfinished); err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", name, err), os.RemoveAll(unfinished))
	}
	return path, os.Rename(unfinished, path)
}

// debian returns what makes the layer of a part.
func debian(name string) func() (layer, error) {
	return func() (layer, error) {
		for _, program := range []string{"apt-get", "dpkg-deb"} {
			if _, err := find(program, "a Debian or Ubuntu host"); err != nil {
				return layer{}, err
			}
		}
		sum := sha256.Sum256(fmt.Append(nil, debianParts())) // another list is another directory
		dir, err := cached("debian-"+hex.EncodeToString(sum[:4]), bootstrap)
		if err != nil {
			return layer{}, err
		}
		return fileLayer(filepath.Join(dir, name+".tar"))
	}
}

// bootstrap makes the directory to, with a tar of every part.
func bootstrap(to string) (err error) {
	dir, err := os.MkdirTemp("", "toolcell-debian-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archives := filepath.Join(dir, "archives")
	if err := errors.Join(os.Mkdir(to, 0o755), os.MkdirAll(filepath.Join(archives, "partial"), 0o755)); err != nil {
		return err
	}
	var packages, unpacked []string
	for _, p := range debianParts() {
		packages = append(packages, p.packages...)
		if err := fetch(dir, archives, packages); err != nil {
			return err
		}
		root := filepath.Join(dir, p.name)
		if unpacked, err = unpack(archives, root, unpacked); err != nil {
			return err
		}
		if p.name == pythonPart {
			if err := settle(root); err != nil {
				return err
			}
		}
		if err := pack(root, filepath.Join(to, p.name+".tar")); err != nil {
			return err
		}
	}
	return nil
}

// fetch downloads packages of the host's release and what they depend on, as far as they are not in archives. apt chooses
// them for a machine on which nothing is installed.
func fetch(dir, archives string, packages []string) error {
	status := filepath.Join(dir, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return err
	}
	args := []string{"--quiet", "--assume-yes", "--download-only", "--no-install-recommends", "-o", "Dir::State::status=" + status,
		"-o", "Dir::Cache::archives=" + archives, "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "install"}
	return build("", "apt-get", append(args, packages...)...)
}

// unpack puts the contents of every package of archives into root, but for those in done, and returns them all.
func unpack(archives, root string, done []string) ([]string, error) {
	packages, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		if slices.Contains(done, p) {
			continue
		}
		if err := build("", "dpkg-deb", "--extract", p, root); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// settle makes what is needed of that which the maintainer scripts of base-passwd and mawk would have made.
func settle(root string) error {
	return errors.Join(os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(passwd), 0o644),
		os.WriteFile(filepath.Join(root, "etc/group"), []byte(group), 0o644),
		os.Symlink("mawk", filepath.Join(root, "usr/bin/awk")))
}

// pack packs what programs need of root into the tar to.
func pack(root, to string) error {
	return build("", "tar", "--numeric-owner", "--sort=name", "--exclude=./usr/share/doc/*", "--exclude=./usr/share/man/*",
		"--exclude=./usr/share/locale/*", "-C", root, "-cf", to, ".")
}

// build runs a program that makes something, in dir.
func build(dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}
