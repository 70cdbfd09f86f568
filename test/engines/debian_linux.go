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
	"strings"
	"syscall"
	"time"
)

// buildTimeout bounds the making of a Debian, and of nerdctl, with everything that is fetched for it.
const buildTimeout = 8 * time.Minute

// debianPackages are what the image has, with what they depend on. Their maintainer scripts are not run: nothing of what they
// do is needed to run a program, and a whole debootstrap takes minutes where this takes half of one.
func debianPackages() []string {
	return []string{"base-files", "base-passwd", "coreutils", "dash", "findutils", "grep", "python3", "sed", "util-linux"}
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

// cached returns the path of a file in the cache, which build makes when it is not there. Two processes that want the same
// file at once build it once.
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
	part := path + ".part"
	if err := build(part); err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", name, err), os.RemoveAll(part))
	}
	return path, os.Rename(part, path)
}

// debian returns the layer of a Debian with Python.
func debian() (layer, error) {
	for _, name := range []string{"apt-get", "dpkg-deb"} {
		if _, err := find(name, "a Debian or Ubuntu host"); err != nil {
			return layer{}, err
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(debianPackages(), " "))) // another list is another file
	path, err := cached("debian-"+hex.EncodeToString(sum[:4])+".tar", bootstrap)
	if err != nil {
		return layer{}, err
	}
	return fileLayer(path)
}

// bootstrap unpacks the packages of the host's release and packs what they hold into the tar to. apt chooses them for a
// machine on which nothing is installed.
func bootstrap(to string) (err error) {
	dir, err := os.MkdirTemp("", "toolcell-debian-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archives, root := filepath.Join(dir, "archives"), filepath.Join(dir, "root")
	status := filepath.Join(dir, "status")
	if err := errors.Join(os.MkdirAll(filepath.Join(archives, "partial"), 0o755), os.Mkdir(root, 0o755), os.WriteFile(status, nil, 0o644)); err != nil {
		return err
	}
	args := []string{"--quiet", "--assume-yes", "--download-only", "--no-install-recommends", "-o", "Dir::State::status=" + status,
		"-o", "Dir::Cache::archives=" + archives, "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "install"}
	if err := build("", "apt-get", append(args, debianPackages()...)...); err != nil {
		return err
	}
	if err := unpack(archives, root); err != nil {
		return err
	}
	return build("", "tar", "--numeric-owner", "--sort=name", "--exclude=./usr/share/doc/*", "--exclude=./usr/share/man/*",
		"--exclude=./usr/share/locale/*", "-C", root, "-cf", to, ".")
}

// unpack puts the contents of every package in dir into root, and the users that base-passwd's script would.
func unpack(dir, root string) error {
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, p := range packages {
		if err := build("", "dpkg-deb", "--extract", p, root); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(passwd), 0o644),
		os.WriteFile(filepath.Join(root, "etc/group"), []byte(group), 0o644))
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
