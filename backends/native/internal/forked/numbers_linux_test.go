package forked

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// here are the numbers of the architecture that the test runs on.
var here = map[plan.Call]uintptr{
	plan.Capset: unix.SYS_CAPSET, plan.Chdir: unix.SYS_CHDIR, plan.Close: unix.SYS_CLOSE,
	plan.CloseRange: unix.SYS_CLOSE_RANGE, plan.Dup3: unix.SYS_DUP3, plan.Faccessat2: unix.SYS_FACCESSAT2,
	plan.Fchdir: unix.SYS_FCHDIR, plan.Fsconfig: unix.SYS_FSCONFIG, plan.Fsmount: unix.SYS_FSMOUNT,
	plan.Fsopen: unix.SYS_FSOPEN, plan.Ioctl: unix.SYS_IOCTL, plan.IoprioSet: unix.SYS_IOPRIO_SET,
	plan.Keyctl: unix.SYS_KEYCTL, plan.LandlockAddRule: unix.SYS_LANDLOCK_ADD_RULE,
	plan.LandlockCreateRuleset: unix.SYS_LANDLOCK_CREATE_RULESET,
	plan.LandlockRestrictSelf:  unix.SYS_LANDLOCK_RESTRICT_SELF, plan.Mkdirat: unix.SYS_MKDIRAT,
	plan.Mount: unix.SYS_MOUNT, plan.MountSetattr: unix.SYS_MOUNT_SETATTR, plan.MoveMount: unix.SYS_MOVE_MOUNT,
	plan.OpenTree: unix.SYS_OPEN_TREE, plan.Openat: unix.SYS_OPENAT, plan.Openat2: unix.SYS_OPENAT2,
	plan.Personality: unix.SYS_PERSONALITY, plan.PivotRoot: unix.SYS_PIVOT_ROOT, plan.Prctl: unix.SYS_PRCTL,
	plan.Prlimit64: unix.SYS_PRLIMIT64, plan.Recvfrom: unix.SYS_RECVFROM, plan.Recvmsg: unix.SYS_RECVMSG, plan.RtSigaction: unix.SYS_RT_SIGACTION, plan.SchedSetaffinity: unix.SYS_SCHED_SETAFFINITY,
	plan.SchedSetscheduler: unix.SYS_SCHED_SETSCHEDULER, plan.Seccomp: unix.SYS_SECCOMP,
	plan.Setgroups: unix.SYS_SETGROUPS, plan.Sethostname: unix.SYS_SETHOSTNAME,
	plan.Setpriority: unix.SYS_SETPRIORITY, plan.Setresgid: unix.SYS_SETRESGID, plan.Setresuid: unix.SYS_SETRESUID,
	plan.Setsid: unix.SYS_SETSID, plan.Socket: unix.SYS_SOCKET, plan.Statx: unix.SYS_STATX,
	plan.Symlinkat: unix.SYS_SYMLINKAT, plan.Umask: unix.SYS_UMASK, plan.Umount2: unix.SYS_UMOUNT2,
	plan.Unshare: unix.SYS_UNSHARE, plan.Write: unix.SYS_WRITE,
}

// onARM64 are the numbers of include/uapi/asm-generic/unistd.h by the names of the plan's constants.
var onARM64 = map[string]uint64{
	"Dup3": 24, "Ioctl": 29, "IoprioSet": 30, "Mkdirat": 34, "Symlinkat": 36, "Umount2": 39, "Mount": 40, "PivotRoot": 41,
	"Chdir": 49, "Fchdir": 50, "Openat": 56, "Close": 57, "Write": 64, "Capset": 91, "Personality": 92, "Unshare": 97,
	"SchedSetscheduler": 119, "SchedSetaffinity": 122, "Setpriority": 140, "Setresuid": 147, "Setresgid": 149,
	"Setsid": 157, "Setgroups": 159, "Sethostname": 161, "Umask": 166, "Prctl": 167, "Socket": 198, "Keyctl": 219,
	"Prlimit64": 261, "Recvfrom": 207, "Recvmsg": 212, "RtSigaction": 134, "Seccomp": 277, "Statx": 291, "OpenTree": 428, "MoveMount": 429, "Fsopen": 430, "Fsconfig": 431,
	"Fsmount": 432, "CloseRange": 436, "Openat2": 437, "Faccessat2": 439, "MountSetattr": 442,
	"LandlockCreateRuleset": 444, "LandlockAddRule": 445, "LandlockRestrictSelf": 446,
}

func TestNumbers(t *testing.T) {
	for c := plan.Call(1); c.Valid(); c++ {
		want, ok := here[c]
		if assert.True(t, ok, "%s is held against x/sys", c) {
			assert.Equal(t, want, number(uint8(c)), "%s", c)
		}
	}
	assert.Len(t, here, plan.NumCalls-1)
	assert.Equal(t, uintptr(unix.SYS_CLOSE_RANGE), uintptr(sysCloseRange))
	assert.Equal(t, uintptr(unix.SYS_CLONE3), uintptr(sysClone3))
	for _, c := range []uint8{0, uint8(plan.NumCalls), 200, 255} {
		assert.Equal(t, noSuchCall, number(c), "call %d", c)
	}
}

// The other architecture's table is only read here, so that it is held on every machine.
func TestNumbersOfARM64(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "numbers_linux_arm64.go", nil, 0)
	require.NoError(t, err)
	got := map[string]uint64{}
	ast.Inspect(f, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			v, err := strconv.ParseUint(kv.Value.(*ast.BasicLit).Value, 10, 16)
			require.NoError(t, err)
			got[kv.Key.(*ast.SelectorExpr).Sel.Name] = v
		}
		return true
	})
	assert.Equal(t, onARM64, got)
	assert.Len(t, got, plan.NumCalls-1)
}

// The assembly and the tables of both architectures are what vet and the assembler take.
func TestBuildsForBothArchitectures(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the standard library for another architecture")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, verb := range []string{"vet", "build"} {
			cmd := exec.Command("go", verb, ".")
			cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "go %s for %s: %s", verb, arch, out)
		}
	}
}
