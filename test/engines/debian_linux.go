package engines

import (
	"bytes"
	"context"
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

// suite is the Debian release of the image: one that still gets its security fixes from the ordinary mirror.
const suite = "bookworm"

// debianInclude is what the image has beside the smallest system.
const debianInclude = "python3"

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
	debootstrap, err := find("debootstrap", "debootstrap")
	if err != nil {
		return layer{}, err
	}
	path, err := cached("debian-"+suite+"-"+debianInclude+".tar", func(to string) error { return bootstrap(debootstrap, to) })
	if err != nil {
		return layer{}, err
	}
	return fileLayer(path)
}

// bootstrap makes a Debian and packs it into the tar to. It needs root and the mirror.
func bootstrap(debootstrap, to string) (err error) {
	dir, err := os.MkdirTemp("", "toolcell-debian-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmountBelow(dir), os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // it is the root directory of the image
		return err
	}
	if err := build("", debootstrap, "--variant=minbase", "--include="+debianInclude, suite, dir); err != nil {
		return err
	}
	return build("", "tar", "--numeric-owner", "--sort=name", "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists/*",
		"--exclude=./usr/share/doc/*", "--exclude=./usr/share/man/*", "--exclude=./usr/share/locale/*", "--exclude=./dev/*",
		"-C", dir, "-cf", to, ".")
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
