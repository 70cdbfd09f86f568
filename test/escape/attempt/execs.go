//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// execAttempts run what should not run, or gain something by running it. args[0] is a directory to write to.
func execAttempts() map[string]try {
	return map[string]try{
		"drop-exec":      dropExec,
		"drop-loader":    dropLoader,
		"drop-map":       dropMap,
		"drop-mprotect":  dropProtect,
		"memfd-exec":     memfdExec(0x10 /* MFD_EXEC */),
		"memfd-plain":    memfdExec(0),
		"setuid-program": privileged("setuid"),
		"file-caps":      privileged("filecaps"),
	}
}

// drop copies this program to dir/name.
func drop(dir, name string) (string, error) {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	p := filepath.Join(dir, name)
	return p, os.WriteFile(p, b, 0o755)
}

// runs reports whether starting p works.
func runs(p string, args ...string) (bool, string) {
	out, err := exec.Command(p, args...).CombinedOutput()
	if err != nil {
		return false, fmt.Sprintf("%v: %s", err, out)
	}
	return string(out) == "ok\n", string(out)
}

func dropExec(args []string) (bool, string) {
	p, err := drop(arg(args, 0), "dropped")
	if err != nil {
		return worked(err)
	}
	defer os.Remove(p)
	return runs(p, "ok")
}

// dropLoader has the dynamic loader, which may run, load a dropped program.
func dropLoader(args []string) (bool, string) {
	loaders, err := filepath.Glob("/lib*/ld-linux*.so.*")
	if err != nil || len(loaders) == 0 {
		return false, "no dynamic loader"
	}
	b, err := os.ReadFile("/bin/echo")
	if err != nil {
		return worked(err)
	}
	p := filepath.Join(arg(args, 0), "dropped-echo")
	if err := os.WriteFile(p, b, 0o755); err != nil {
		return worked(err)
	}
	defer os.Remove(p)
	return runs(loaders[0], p, "ok")
}

// dropMap maps a dropped file executable, as a loader of its own would.
func dropMap(args []string) (bool, string) {
	p, err := drop(arg(args, 0), "mapped")
	if err != nil {
		return worked(err)
	}
	defer os.Remove(p)
	fd, err := unix.Open(p, unix.O_RDONLY, 0)
	if err != nil {
		return worked(err)
	}
	_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	return worked(err)
}

// dropProtect maps a dropped file and makes the mapping executable afterwards.
func dropProtect(args []string) (bool, string) {
	p, err := drop(arg(args, 0), "protected")
	if err != nil {
		return worked(err)
	}
	defer os.Remove(p)
	fd, err := unix.Open(p, unix.O_RDONLY, 0)
	if err != nil {
		return worked(err)
	}
	m, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return worked(err)
	}
	return worked(unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC))
}

// memfdExec runs this program from memory.
func memfdExec(flags int) try {
	return func([]string) (bool, string) {
		fd, err := unix.MemfdCreate("dropped", flags)
		if err != nil {
			return worked(err)
		}
		b, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			return worked(err)
		}
		if _, err := unix.Write(fd, b); err != nil {
			return worked(err)
		}
		_ = unix.Fchmod(fd, 0o755)
		// The descriptor is open for writing here, so the kernel would answer ETXTBSY: open another for reading.
		ro, err := unix.Open("/proc/self/fd/"+itoa(fd), unix.O_RDONLY, 0)
		if err != nil {
			return worked(err)
		}
		if err := unix.Close(fd); err != nil {
			return worked(err)
		}
		return runs("/proc/self/fd/"+itoa(ro), "ok")
	}
}

// privileged runs args[0]/name, a copy of this program with more rights than the caller, and asks what it has.
func privileged(name string) try {
	return func(args []string) (bool, string) {
		before := privilege()
		out, err := exec.Command(filepath.Join(arg(args, 0), name), "privilege").Output()
		if err != nil {
			return worked(err)
		}
		after := strings.TrimSpace(string(out))
		return after != before, "before " + before + ", after " + after
	}
}

// privilege describes the effective rights of this process.
func privilege() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if caps, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return fmt.Sprintf("euid %d caps %s", os.Geteuid(), strings.TrimSpace(caps))
		}
	}
	return "unknown"
}

// overwriteRuntime writes to the program of its parent as soon as that ends, through a descriptor that it took before.
func overwriteRuntime([]string) (bool, string) {
	parent := os.Getppid()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/exe", parent), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return worked(err)
	}
	_ = unix.Kill(parent, syscall.SIGTERM)
	return overwrite("/proc/self/fd/"+itoa(fd), 100)
}

// overwrite appends a byte to p, trying until nobody runs it any more.
func overwrite(p string, tries int) (bool, string) {
	var last error
	for range tries {
		fd, err := unix.Open(p, unix.O_WRONLY|unix.O_APPEND, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("x"))
			return worked(err)
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
	return worked(last)
}

// coreLimit asks for a core dump of any size.
func coreLimit() error {
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
}
