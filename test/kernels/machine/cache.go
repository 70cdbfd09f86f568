package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Cache is a directory with kernels and roots that outlive a run. It is one process's at a time.
type Cache struct {
	dir  string
	log  io.Writer
	lock *os.File
}

// OpenCache opens the cache in the user's cache directory. What takes long is told to log. It waits for another process
// that has it open.
func OpenCache(log io.Writer) (*Cache, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	dir := filepath.Join(base, "toolcell", "kernels")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	return &Cache{dir: dir, log: log, lock: lock}, nil
}

// Close gives the cache to others.
func (c *Cache) Close() error { return c.lock.Close() }

// Path returns where something of a run may be kept.
func (c *Cache) Path(name string) string { return filepath.Join(c.dir, name) }

// make returns a path in the cache, after build has made it there under another name if it is not there yet.
func (c *Cache) make(name string, build func(at string) error) (string, error) {
	path, part := c.Path(name), c.Path(name+".part")
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	fmt.Fprintf(c.log, "making %s\n", path)
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := build(part); err != nil {
		return "", errors.Join(fmt.Errorf("make %s: %w", path, err), os.RemoveAll(part))
	}
	return path, os.Rename(part, path)
}

// output runs a program and returns what it prints; its complaints are in the error.
func output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastLines(said.String()+string(out)))
	}
	return string(out), nil
}

func lastLines(text string) string {
	const kept = 1000
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-kept):]
}
