package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// cgroupBound are the guarantees that need a cgroup.
func cgroupBound() []sandbox.Guarantee {
	return []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU}
}

// obstructed is one environment in which nothing may run.
type obstructed struct {
	name        string
	early, late []string
	namespaces  uintptr
	stage       string
	kind        sandbox.Kind
	guarantee   sandbox.Guarantee
	errno       unix.Errno
	// fix is a word that the fix cannot do without: what the operator has to change.
	fix string
	// noMount leaves the workspace out where not even the control could map it.
	noMount bool
	// cloneFails says that clone(2) itself fails, which costs two descriptors: forkAndExecInChild in Go's syscall/exec_linux.go
	// returns without closing the pipe for the identity maps.
	cloneFails bool
}

// obstructions are the environments that refuse, for root and for an ordinary user alike.
func obstructions() []obstructed {
	const mounts = unix.CLONE_NEWNS
	un, re := sandbox.KindUnavailable, sandbox.KindRefused
	return []obstructed{
		{name: "user namespaces switched off", early: []string{"no user namespaces"}, namespaces: unix.CLONE_NEWUSER, noMount: true,
			stage: "open", kind: un, errno: unix.ENOSPC, cloneFails: true, fix: "user.max_user_namespaces"},
		{name: "docker's filter", early: []string{"docker's filter"}, stage: "open", kind: un, errno: unix.EPERM, cloneFails: true, fix: "seccomp=unconfined"},
		{name: "clone3 filtered", early: []string{"no clone3"}, stage: "run", kind: un, errno: unix.ENOSYS, fix: "clone3"},
		{name: "Landlock filtered, ENOSYS", early: []string{"no landlock, ENOSYS"}, stage: "run", kind: re, guarantee: sandbox.KernelLandlock, fix: "Landlock"},
		{name: "Landlock filtered, EPERM", early: []string{"no landlock, EPERM"}, stage: "run", kind: re, guarantee: sandbox.KernelLandlock, fix: "Landlock"},
		{name: "seccomp filtered, ENOSYS", early: []string{"no seccomp, ENOSYS"}, stage: "run", kind: re, guarantee: sandbox.KernelSeccomp, fix: "seccomp"},
		{name: "seccomp filtered, EPERM", early: []string{"no seccomp, EPERM"}, stage: "run", kind: re, guarantee: sandbox.KernelSeccomp, fix: "seccomp"},
		{name: "a masked /proc", early: []string{"masked proc"}, namespaces: mounts, stage: "open", kind: un, errno: unix.EPERM, fix: "systempaths=unconfined"},
		{name: "a chroot", early: []string{"chroot"}, namespaces: mounts, stage: "open", kind: un, errno: unix.EPERM, cloneFails: true, fix: "chroot"},
		{name: "24 open files", early: []string{"few open files"}, stage: "open", kind: un, fix: "RLIMIT_NOFILE"},
	}
}

// workspace is a scene that leaves a mark in a directory of its user's.
func workspace(t *testing.T, uid int) (s scene, mark string) {
	t.Helper()
	dir := openDir(t)
	require.NoError(t, os.Chown(dir, uid, uid))
	s = scene{
		User: uid, Argv: []string{"sh", "-c", "echo ran; echo ran > /work/mark"},
		Profile: sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}},
	}
	if uid != 0 {
		s.Waived = cgroupBound()
	}
	return s, filepath.Join(dir, "mark")
}

func (o obstructed) test(t *testing.T, uid int) {
	s, mark := workspace(t, uid)
	if o.noMount {
		s.Profile.Binds, s.Argv = nil, []string{"echo", "ran"}
	}
	s.setUp(o.namespaces)
	free := s.stage(t, o.namespaces)
	require.Empty(t, free.Stage, "without the obstacle: %+v", free)
	require.Equal(t, "ran\n", free.Stdout)
	free.nothingLeft(t)
	if !o.noMount {
		require.FileExists(t, mark)
		require.NoError(t, os.Remove(mark))
	}

	s.Early, s.Late = append(s.Early, o.early...), o.late
	v := s.stage(t, o.namespaces)
	t.Logf("%s: %s: %s: %s (%s)", v.Kind, v.Op, v.Guarantee, v.Cause, v.Fix)
	v.refused(t, o)
	assert.NoFileExists(t, mark)
}

// setUp makes the control's mount namespace as private as the obstacle's will be.
func (s *scene) setUp(namespaces uintptr) {
	if namespaces&unix.CLONE_NEWNS != 0 {
		s.Early = append(s.Early, "new mount namespace")
	}
}

// refused: one clear, typed error, nothing run, nothing left.
func (v verdict) refused(t *testing.T, o obstructed) {
	t.Helper()
	assert.Equal(t, o.stage, v.Stage)
	assert.Empty(t, v.Untyped, "an error without a kind")
	assert.Equal(t, o.kind, v.Kind)
	assert.Equal(t, o.guarantee, v.Guarantee)
	assert.NotEmpty(t, v.Op)
	assert.NotEmpty(t, v.Cause)
	assert.Contains(t, v.Fix, o.fix)
	assert.NotContains(t, v.Cause+v.Fix, "\n", "one line")
	if o.errno != 0 {
		assert.Equal(t, o.errno, v.Errno, "%s", v.Cause)
	}
	assert.Empty(t, v.Stdout)
	assert.Empty(t, v.Status)
	if o.cloneFails {
		v.Descriptors = max(0, v.Descriptors-2)
	}
	v.nothingLeft(t)
}

func TestHostileEnvironmentsRefuseForRoot(t *testing.T) {
	requireRoot(t)
	for _, o := range append(obstructions(), []obstructed{
		{name: "read-only cgroups", early: []string{"read-only cgroups"}, namespaces: unix.CLONE_NEWNS,
			stage: "run", kind: sandbox.KindRefused, guarantee: sandbox.LimitProcesses, fix: "cgroup"},
		{name: "no cgroups", early: []string{"no cgroups"}, namespaces: unix.CLONE_NEWNS,
			stage: "run", kind: sandbox.KindRefused, guarantee: sandbox.LimitProcesses, fix: "cgroup"},
		{name: "a /run that cannot be written", early: []string{"read-only /run"}, namespaces: unix.CLONE_NEWNS,
			stage: "open", kind: sandbox.KindUnavailable, errno: unix.EROFS, fix: "state directory"},
		{name: "new mount API filtered, ENOSYS", early: []string{"no new mount API, ENOSYS"},
			stage: "run", kind: sandbox.KindRefused, guarantee: sandbox.PrivNonroot, errno: unix.ENOSYS, fix: "5.12"},
		{name: "new mount API filtered, EPERM", early: []string{"no new mount API, EPERM"},
			stage: "run", kind: sandbox.KindRefused, guarantee: sandbox.PrivNonroot, errno: unix.EPERM, fix: "filter"},
	}...) {
		t.Run(o.name, func(t *testing.T) { o.test(t, 0) })
	}
}

func TestHostileEnvironmentsRefuseForAnOrdinaryUser(t *testing.T) {
	requireRoot(t)
	for _, o := range obstructions() {
		t.Run(o.name, func(t *testing.T) { o.test(t, user) })
	}
}

// TestOldMountAPI: without the new mount API a call that maps nothing works by the documented old way, and keeps every
// guarantee.
func TestOldMountAPI(t *testing.T) {
	requireRoot(t)
	for _, errno := range []string{"ENOSYS", "EPERM"} {
		for _, uid := range []int{0, user} {
			s, mark := workspace(t, uid)
			if uid == 0 {
				s.Profile.Binds, s.Argv = nil, []string{"echo", "ran"}
			}
			s.Early = []string{"no new mount API, " + errno}
			v := s.stage(t, 0)
			require.Empty(t, v.Stage, "%s as %d: %+v", errno, uid, v)
			assert.Equal(t, "ran\n", v.Stdout)
			v.nothingLeft(t)
			if uid != 0 {
				assert.FileExists(t, mark)
				continue
			}
			mounts := v.Report.Get(sandbox.PrivNonroot)
			assert.Contains(t, mounts.Reason, "a call with a mount is refused: open_tree: ")
			assert.Contains(t, mounts.Fix, "new mount API")
			s.Early = nil
			free := s.stage(t, 0)
			require.Empty(t, free.Stage, "%+v", free)
			assert.Empty(t, free.Report.Get(sandbox.PrivNonroot).Reason, "control")
		}
	}
}

// careless are callers that leave things lying about. The call works, and none of it shows inside.
func TestCarelessCallers(t *testing.T) {
	requireRoot(t)
	const look = `grep ^SigIgn /proc/self/status; grep ^SigBlk /proc/self/status; umask; nproc; pwd; ls /proc/self/fd | wc -l; ` +
		`echo "$HOME $TMPDIR"; touch "$HOME/a" "$TMPDIR/b" && echo written`
	for _, uid := range []int{0, user} {
		plain := careless(t, uid, look)
		require.Contains(t, plain, "written")
		for _, c := range []struct{ early, late []string }{
			{early: []string{"200 inheritable files"}}, {late: []string{"no standard descriptors"}},
			{late: []string{"SIGHUP ignored"}}, {late: []string{"SIGPIPE ignored"}}, {late: []string{"SIGCHLD ignored"}},
			{early: []string{"umask 077"}}, {early: []string{"nice 10"}}, {early: []string{"one CPU"}},
			{late: []string{"a working directory gone"}}, {late: []string{"TMPDIR unset"}}, {late: []string{"HOME unset"}},
			{early: []string{"signals blocked by parents"}},
			{early: []string{"200 inheritable files", "umask 077", "nice 10", "one CPU"},
				late: []string{"SIGHUP ignored", "SIGPIPE ignored", "SIGCHLD ignored", "no standard descriptors", "a working directory gone", "TMPDIR unset", "HOME unset"}},
		} {
			name := strings.Join(append(c.early, c.late...), ", ")
			t.Run(name, func(t *testing.T) {
				assert.Equal(t, plain, carelessly(t, uid, look, c.early, c.late))
			})
		}
	}
}

// What is prepared for calls is entered by setns(2). Where a filter forbids it, calls are made without.
func TestCallsWithoutSetns(t *testing.T) {
	requireRoot(t)
	for _, uid := range []int{0, user} {
		s, _ := workspace(t, uid)
		s.Argv, s.Before, s.Ahead = []string{"echo", "ran"}, 5, true
		s.Early = []string{"no setns, EPERM"}
		v := s.stage(t, 0)
		require.Empty(t, v.Stage, "uid %d: %s: %s: %s", uid, v.Op, v.Cause, v.Fix)
		assert.Equal(t, "ran\n", v.Stdout)
		v.nothingLeft(t)
	}
}

func careless(t *testing.T, uid int, look string) string { return carelessly(t, uid, look, nil, nil) }

func carelessly(t *testing.T, uid int, look string, early, late []string) string {
	t.Helper()
	s, _ := workspace(t, uid)
	s.Argv, s.Early, s.Late = []string{"sh", "-c", look}, early, late
	v := s.stage(t, 0)
	require.Empty(t, v.Stage, "uid %d: %s: %s: %s", uid, v.Op, v.Cause, v.Fix)
	require.Equal(t, sandbox.StatusExited, v.Status)
	require.Zero(t, v.ExitCode, "%s%s", v.Stdout, v.Stderr)
	v.nothingLeft(t)
	return v.Stdout
}

// TestMemoryThatNothingStartsIn: a limit below the least is invalid, and the least either runs the program or says that
// memory is short.
func TestMemoryThatNothingStartsIn(t *testing.T) {
	requireRoot(t)
	s, mark := workspace(t, 0)
	s.Profile.Limits.MemoryMB = 1
	v := s.stage(t, 0)
	v.refused(t, obstructed{stage: "run", kind: sandbox.KindInvalid})
	assert.NoFileExists(t, mark)
	s.Profile.Limits.MemoryMB = sandbox.MinMemoryMB
	s.Argv = []string{"python3", "-c", "print(len(bytearray(64 << 20)))"}
	v = s.stage(t, 0)
	if v.Stage == "" {
		assert.Equal(t, sandbox.StatusOOM, v.Status)
		assert.Empty(t, v.Stdout)
	} else {
		assert.Equal(t, sandbox.KindInvalid, v.Kind)
		assert.Equal(t, sandbox.LimitMemory, v.Guarantee)
		assert.Contains(t, v.Fix, "memory")
	}
	v.nothingLeft(t)
}

// TestRootWithoutIDs: uid 0 of a user namespace that has no other ids cannot give sandboxes ids of their own, and is told.
func TestRootWithoutIDs(t *testing.T) {
	requireRoot(t)
	s := scene{Argv: []string{"echo", "ran"}}
	free := s.stage(t, unix.CLONE_NEWUSER)
	require.Empty(t, free.Stage, "with every id: %+v", free)
	require.Equal(t, "ran\n", free.Stdout)
	s.OneID = true
	v := s.stage(t, unix.CLONE_NEWUSER)
	t.Logf("%s: %s: %s (%s)", v.Kind, v.Op, v.Cause, v.Fix)
	v.refused(t, obstructed{stage: "open", kind: sandbox.KindUnavailable, fix: "uid_map"})
}
