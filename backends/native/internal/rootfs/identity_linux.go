package rootfs

import (
	"fmt"

	"github.com/soulacy/toolcell/sandbox"
)

// Identity is who the program is inside.
type Identity struct {
	// UID and GID are the ids inside.
	UID, GID uint32
	// Name is the name of both. "" means "tool".
	Name string
	// Home is the home directory. "" means [sandbox.HomeDir].
	Home string
	// Hostname is the name of the machine inside. "" means "sandbox".
	Hostname string
}

func (id Identity) withDefaults() Identity {
	if id.Name == "" {
		id.Name = "tool"
	}
	if id.Home == "" {
		id.Home = sandbox.HomeDir
	}
	if id.Hostname == "" {
		id.Hostname = "sandbox"
	}
	return id
}

// syntheticPaths are the paths of [Synthetic]; an image's own files of these names are left out.
var syntheticPaths = []string{
	"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
}

// Synthetic returns the files of /etc that say who and where the program is. They hold nothing of the host: two
// accounts besides the program's own (programs print names for uid 0 and 65534), no password file, the loopback
// names for both families, no resolver, and files as the only name service, so that nothing waits for a network.
func Synthetic(id Identity) []File {
	id = id.withDefaults()
	passwd := "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
	group := "root:x:0:\n"
	if id.UID != 65534 {
		passwd += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	}
	if id.GID != 65534 {
		group += "nogroup:x:65534:\n"
	}
	passwd += fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh\n", id.Name, id.UID, id.GID, id.Name, id.Home)
	group += fmt.Sprintf("%s:x:%d:\n", id.Name, id.GID)
	hosts := "127.0.0.1 localhost " + id.Hostname + "\n::1 localhost ip6-localhost ip6-loopback " + id.Hostname + "\n"
	var out []File
	for i, data := range []string{
		passwd, group, hosts, id.Hostname + "\n", "# no network\n",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\nprotocols: files\nservices: files\n",
		"multi on\n",
	} {
		out = append(out, File{Path: syntheticPaths[i], Mode: 0o444, Data: []byte(data)})
	}
	return out
}

// scratch holds the directories below HOME that programs expect to find. The runtime directory has to be private to
// its user (XDG Base Directory Specification).
var scratch = []struct{ variable, dir string }{
	{"HOME", ""},
	{"XDG_CACHE_HOME", "/.cache"},
	{"XDG_CONFIG_HOME", "/.config"},
	{"", "/.local"},
	{"XDG_DATA_HOME", "/.local/share"},
	{"XDG_STATE_HOME", "/.local/state"},
	{"XDG_RUNTIME_DIR", "/.run"},
}

// Environment returns the variables that every program gets, all about the sandbox itself, in a fixed order. path is
// the image's PATH. What a command or a profile names wins over them.
func Environment(id Identity, path string) []string {
	id = id.withDefaults()
	env := []string{
		"PATH=" + path, "USER=" + id.Name, "LOGNAME=" + id.Name, "SHELL=/bin/sh", "LANG=C.UTF-8", "TMPDIR=/tmp",
	}
	for _, s := range scratch {
		if s.variable != "" {
			env = append(env, s.variable+"="+id.Home+s.dir)
		}
	}
	return env
}

// ScratchDirs returns the directories on the scratch that have to be made, mode 0700, owned by the program, in this
// order, for a program whose home is [sandbox.HomeDir].
func ScratchDirs() []string {
	var out []string
	for _, s := range scratch {
		out = append(out, sandbox.HomeDir+s.dir)
	}
	return out
}
