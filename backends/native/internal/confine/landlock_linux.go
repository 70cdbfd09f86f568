package confine

import (
	"slices"
	"strconv"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/sandbox"
)

// The access rights by what they are for. Rights that the kernel's version does not have are left out of rule and
// ruleset alike.
const (
	readFiles  = ll.AccessFSReadFile | ll.AccessFSReadDir
	useFiles   = readFiles | ll.AccessFSExecute
	useDevices = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSReadDir | ll.AccessFSTruncate
	// writeFiles are all but running programs and making device nodes.
	writeFiles = readFiles | ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer |
		ll.AccessFSTruncate
	// onFile are the rights that a rule on a single file may have; the kernel refuses the others.
	onFile = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// LandlockRights returns the file rights that a Landlock version handles, and its scopes: version 1 has 13 rights, 2
// adds REFER, 3 TRUNCATE, 5 IOCTL_DEV, 9 RESOLVE_UNIX, and 6 adds the scopes for signals and abstract sockets
// (Documentation/userspace-api/landlock.rst).
func LandlockRights(abi int) (fs, scoped uint64) {
	fs = ll.AccessFSRefer - 1
	for _, a := range []struct {
		abi   int
		right uint64
	}{{2, ll.AccessFSRefer}, {3, ll.AccessFSTruncate}, {5, ll.AccessFSIoctlDev}, {9, ll.AccessFSResolveUnix}} {
		if abi >= a.abi {
			fs |= a.right
		}
	}
	if abi >= 6 {
		scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return fs, scoped
}

// Rule is one line of the Landlock policy: a path inside and what may be done below it.
type Rule struct {
	Path   string
	Access uint64
	File   bool
}

// Rules are the Landlock policy of s. Landlock looks at where a file is mounted, from there up to the root: a rule on
// /usr says nothing of a bind of /usr/bin elsewhere, and one on /etc covers what is mounted below it.
func Rules(s Spec) []Rule {
	rules := []Rule{{Path: "/", Access: ll.AccessFSReadDir}, {Path: "/etc", Access: readFiles}}
	for _, b := range s.Image.Binds {
		access := uint64(readFiles)
		if b.Exec {
			access = useFiles
		}
		rules = append(rules, Rule{Path: b.Target, Access: access, File: b.File})
	}
	// Connecting to a socket by its path is for the scratch alone, where every socket is the sandbox's own. In a declared
	// mount a service of the host may listen.
	scratch := uint64(writeFiles | ll.AccessFSResolveUnix)
	if s.Scratch.Exec {
		scratch |= ll.AccessFSExecute
	}
	rules = append(rules,
		Rule{Path: "/proc", Access: useDevices},
		Rule{Path: "/dev", Access: useDevices},
		Rule{Path: "/dev/pts", Access: useDevices | ll.AccessFSIoctlDev},
		Rule{Path: "/dev/tty", Access: useDevices | ll.AccessFSIoctlDev, File: true},
		Rule{Path: "/tmp", Access: scratch},
		Rule{Path: "/dev/shm", Access: scratch})
	for _, m := range s.Mounts {
		rules = append(rules, Rule{Path: m.Target, Access: mountAccess(m), File: m.File})
	}
	return prune(rules)
}

// prune leaves out rules that say no more than one above them: Landlock adds up the rights on the way to the root.
func prune(rules []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return slices.ContainsFunc(rules, func(above Rule) bool {
			return strings.HasPrefix(r.Path, above.Path+"/") && r.Access&^above.Access == 0
		})
	})
}

func mountAccess(m Mount) uint64 {
	access := uint64(readFiles)
	if m.Writable {
		access = writeFiles
	}
	if m.Exec {
		access |= ll.AccessFSExecute
	}
	return access
}

// landlock confines files, signals and abstract sockets a second time. TCP is not handled: a rule is about a port, and
// the sandbox's own loopback, which programs need, is the only network there is.
func (c *compiler) landlock() {
	abi := c.spec.Kernel.Landlock
	if abi == 0 {
		return
	}
	c.For(string(sandbox.KernelLandlock))
	fs, scoped := LandlockRights(abi)
	// struct landlock_ruleset_attr: handled_access_fs, and from version 4 handled_access_net, from 6 scoped.
	attr := c.Words("{fs "+hex(fs)+", net 0, scoped "+hex(scoped)+"}", fs, 0, scoped)
	size := map[bool]int{true: 24, false: 8}[abi >= 6]
	set := c.Call("what is handled", plan.LandlockCreateRuleset, args(attr.Ptr(), plan.Num(size), plan.Num(0)),
		plan.Blame(plan.ClassRefused, "Landlock is forbidden here, perhaps by the container this runs in"))
	for _, r := range Rules(c.spec) {
		c.rule(set, r, fs)
	}
	c.Do("confined by it", plan.LandlockRestrictSelf, args(set.Arg(), plan.Num(0)))
}

func (c *compiler) rule(set plan.Reg, r Rule, handled uint64) {
	access := r.Access & handled
	if r.File {
		access &= onFile
	}
	// As in enterDir: a mount's directory may hold what an earlier program left.
	how := c.Words("{O_PATH|O_CLOEXEC, 0, NO_MAGICLINKS}", unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_MAGICLINKS)
	fd := c.Call(r.Path, plan.Openat2, args(cwd(), c.Str(r.Path), how.Ptr(), how.Len()))
	// struct landlock_path_beneath_attr, packed: allowed_access and parent_fd.
	attr := c.Words("{"+hex(access)+", …}", access, 0)
	c.Put("the rule is about it", attr, 8, fd, 4)
	c.Do("rule", plan.LandlockAddRule, args(set.Arg(), plan.Flag(1, "LANDLOCK_RULE_PATH_BENEATH"), attr.Ptr(), plan.Num(0)))
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
