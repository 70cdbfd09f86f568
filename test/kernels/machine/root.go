package machine

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// packages are what the root has beyond Debian's smallest.
var packages = []string{"systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "python3"}

// users are the ordinary users of the root, with ids from 1000 on.
var users = []string{"tool", "bare", "gateway"}

// files go into the root as they are; start is executable.
//
//go:embed files
var files embed.FS

// masked are units that a machine for tests has no use for and would wait for.
var masked = []string{
	"systemd-udevd.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket", "systemd-udev-trigger.service",
	"proc-sys-fs-binfmt_misc.automount", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer",
	"e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@tty1.service", "serial-getty@ttyS0.service",
	"systemd-timesyncd.service", "systemd-random-seed.service", "systemd-update-utmp.service", "systemd-journal-flush.service",
	"systemd-tmpfiles-clean.timer",
}

const rootMiB = 1300

// Root returns the path of the root's disk image.
func (c *Cache) Root(ctx context.Context) (string, error) {
	dir, err := c.make("debian-"+hash(packages, nil), func(at string) error {
		mirror, err := mirrorOf(ctx)
		if err == nil {
			_, err = output(ctx, "debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), "--keyring="+keyring, suite, at, mirror)
		}
		return errors.Join(err, os.RemoveAll(filepath.Join(at, "var/cache/apt/archives")), os.RemoveAll(filepath.Join(at, "var/lib/apt/lists")))
	})
	if err != nil {
		return "", err
	}
	listed, err := fileTexts()
	if err != nil {
		return "", err
	}
	return c.make("root-"+hash(packages, append(append(listed, masked...), users...))+".img", func(at string) error {
		if err := furnish(ctx, dir); err != nil {
			return err
		}
		return partitioned(ctx, at, dir, rootMiB)
	})
}

// hash names what was made from these.
func hash(lists ...[]string) string {
	h := sha256.New()
	for _, l := range lists {
		fmt.Fprintf(h, "%q", l)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// fileTexts are the contents of the files.
func fileTexts() (texts []string, err error) {
	err = fs.WalkDir(files, "files", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(p)
		texts = append(texts, p, string(text))
		return err
	})
	return texts, err
}

// furnish puts users, files and masks into a root; again does no harm.
func furnish(ctx context.Context, root string) error {
	for i, u := range users {
		if _, err := os.Stat(filepath.Join(root, "home", u)); err == nil {
			continue
		}
		if _, err := output(ctx, "chroot", root, "useradd", "--create-home", "--uid", fmt.Sprint(1000+i), u); err != nil {
			return err
		}
	}
	units := filepath.Join(root, "etc/systemd/system")
	for _, unit := range masked {
		if err := link("/dev/null", filepath.Join(units, unit)); err != nil {
			return err
		}
	}
	return errors.Join(
		os.MkdirAll(filepath.Join(root, "toolcell"), 0o755),
		put("files/start", filepath.Join(root, "start"), 0o755),
		put("files/cells.service", filepath.Join(units, "cells.service"), 0o644),
		os.MkdirAll(filepath.Join(units, "multi-user.target.wants"), 0o755),
		link("../cells.service", filepath.Join(units, "multi-user.target.wants/cells.service")),
	)
}

func put(name, at string, mode fs.FileMode) error {
	text, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(at, text, mode), os.Chmod(at, mode))
}

// link makes a symbolic link in the place of whatever is there.
func link(to, at string) error {
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(to, at)
}
