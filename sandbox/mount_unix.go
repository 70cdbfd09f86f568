//go:build !windows

package sandbox

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// cutSource splits "source:rest" at the first colon.
func cutSource(s string) (source, rest string, ok bool) { return strings.Cut(s, ":") }

func tidySource(p string) string { return tidy(p) }

// checkSourceForm checks what does not depend on where the source is.
func checkSourceForm(op, source string) error {
	if !path.IsAbs(source) {
		return invalidMount(op, "the source is not an absolute path", "give the path from /; named volumes are not supported")
	}
	if path.Clean(source) != source {
		return Invalid(op, "the source is not in its shortest form")
	}
	return checkLengths(op, source)
}

// forbiddenSources lists what no sandbox may see, or change. The kernel's own file systems and devices reach far
// beyond any file; /etc and /boot hold the host's secrets and its boot chain; whole trees such as /var or /run hold
// other services' data and sockets; a writable program directory is the host itself.
func forbiddenSources() []place {
	places := []place{{path: "/", why: "the whole host"}}
	for _, p := range []string{"/proc", "/sys", "/dev"} {
		places = append(places, place{path: p, below: true, why: "in " + p + ", the kernel's own"})
	}
	for _, p := range []string{"/etc", "/private/etc", "/boot", "/efi"} {
		places = append(places, place{path: p, below: true, why: "in " + p + ", which holds the host's configuration"})
	}
	for _, p := range []string{"/home", "/root", "/Users", "/private", "/run", "/var", "/private/var", "/var/run", "/var/lib"} {
		places = append(places, place{path: p, why: p + ", which holds other programs' and people's data"})
	}
	for _, p := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/System", "/Library"} {
		places = append(places, place{path: p, below: true, ifWritable: true, why: "in " + p + ", whose programs the host runs, and writable"})
	}
	return append(places, place{path: "/usr", ifWritable: true, why: "/usr, whose programs the host runs, and writable"})
}

// homes returns the home directories of this host that exist: those of the accounts file, of every user that has
// one in the usual places, and of the caller. "/" is none.
func homes() []string {
	found := []string{"/root", "/var/root"}
	if h, err := os.UserHomeDir(); err == nil {
		found = append(found, h)
	}
	for _, pattern := range []string{"/home/*", "/Users/*"} {
		matches, err := filepath.Glob(pattern)
		if err == nil { // Only a bad pattern is an error.
			found = append(found, matches...)
		}
	}
	return existingDirs(append(found, passwdHomes("/etc/passwd")...))
}

// passwdHomes returns the home fields of an accounts file (passwd(5)). Without the file there are none: accounts
// may live elsewhere, and the usual places are known anyway.
func passwdHomes(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) >= 7 {
			out = append(out, fields[5])
		}
	}
	return out
}

func existingDirs(paths []string) []string {
	seen := map[string]bool{"/": true}
	var out []string
	for _, p := range paths {
		if !path.IsAbs(p) || seen[path.Clean(p)] {
			continue
		}
		p = path.Clean(p)
		seen[p] = true
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			out = append(out, p)
		}
	}
	return out
}

// Where engines, service managers, message buses and agents listen. Whoever reaches one acts as its owner.
var (
	systemSockets = []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
		"/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock", "/run/cri-dockerd.sock",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/libvirt/libvirt-sock", "/run/snapd.socket",
		"/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket", "/var/lib/incus/unix.socket", "/tmp/.X11-unix/*",
	}
	// Below /run/user/UID.
	runtimeSockets = []string{
		"docker.sock", "podman/podman.sock", "bus", "systemd/private", "containerd-rootless/api.sock", "keyring/*", "gnupg/*",
		"wayland-*", "ssh-agent*",
	}
	// Below the caller's home directory.
	homeSockets = []string{
		".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/*/docker.sock", ".lima/*/sock/docker.sock",
		".rd/docker.sock", ".orbstack/run/docker.sock", ".gnupg/S.*", ".ssh/agent/*",
	}
)

// controlSockets returns the paths of such sockets that exist, or could; see [source.checkSockets].
func controlSockets() []string {
	out := environmentSockets()
	add := func(dir string, patterns []string) {
		for _, p := range patterns {
			out = append(out, glob(path.Join(literal.Replace(dir), p))...)
		}
	}
	add("/", systemSockets)
	for _, dir := range glob("/run/user/*") {
		add(dir, runtimeSockets)
	}
	for _, p := range glob("/tmp/*") {
		switch name := path.Base(p); {
		case strings.HasPrefix(name, "ssh-"):
			add(p, []string{"agent.*"})
		case strings.HasPrefix(name, "dbus-"):
			out = append(out, p)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home, homeSockets)
	}
	return out
}

// literal escapes what a pattern would take for one in a directory's name.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func glob(pattern string) []string {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil // Only a bad pattern is an error, and these are constant.
	}
	return matches
}
