package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
)

// triesVariable makes this test program one that tries everything in a tree, confined by go-landlock when it is told how.
const triesVariable = "TOOLCELL_TEST_CONFINE_TRIES"

// tries says in which tree, and under which of go-landlock's policies; no version is none.
type tries struct {
	Tree    string
	Version int
	Rules   []Rule
}

func TestMain(m *testing.M) {
	if arg := os.Getenv(triesVariable); arg != "" {
		if err := try(arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// try prints what each attempt gives, by its name.
func try(arg string) error {
	var how tries
	if err := json.Unmarshal([]byte(arg), &how); err != nil {
		return err
	}
	if how.Version > 0 {
		c := versions()[how.Version]
		var rules []landlock.Rule
		for _, r := range how.Rules {
			access := landlock.AccessFSSet(r.Access) & c.HandledAccessFS
			if r.File {
				access &= onFile
			}
			rules = append(rules, landlock.PathAccess(access, r.Path))
		}
		if err := c.Restrict(rules...); err != nil {
			return err
		}
	}
	verdicts := map[string]string{}
	for name, do := range attempts(how.Tree) {
		verdicts[name] = "ok"
		if err := do(); err != nil {
			var errno unix.Errno
			if !errors.As(err, &errno) {
				return fmt.Errorf("%s: %w", name, err)
			}
			verdicts[name] = unix.ErrnoName(errno)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

// places are the directories of the tree. Each has a part of the policy, the last one none.
var places = []string{"lib", "data", "work", "work/bin", "ro", "outside"}

// attempts are everything that a version of Landlock can forbid to files, at every place and between all of them. Each
// has files of its own, so that none depends on another.
func attempts(tree string) map[string]func() error {
	out := map[string]func() error{
		"read one file":     func() error { return openClose(tree+"/one", unix.O_RDONLY) },
		"write one file":    func() error { return openClose(tree+"/one", unix.O_WRONLY) },
		"truncate one file": func() error { return unix.Truncate(tree+"/one", 0) },
		"read beside it":    func() error { return openClose(tree+"/two", unix.O_RDONLY) },
	}
	for _, p := range places {
		d := tree + "/" + p
		for name, do := range map[string]func() error{
			"read":          func() error { return openClose(d+"/read", unix.O_RDONLY) },
			"write":         func() error { return openClose(d+"/write", unix.O_WRONLY) },
			"truncate":      func() error { return unix.Truncate(d+"/truncate", 0) },
			"open truncate": func() error { return openClose(d+"/truncate2", unix.O_WRONLY|unix.O_TRUNC) },
			"create":        func() error { return openClose(d+"/created", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) },
			"list":          func() error { return openClose(d, unix.O_RDONLY|unix.O_DIRECTORY) },
			"run":           func() error { return exec.Command(d + "/true").Run() },
			"mkdir":         func() error { return unix.Mkdir(d+"/made", 0o755) },
			"rmdir":         func() error { return unix.Rmdir(d + "/empty") },
			"unlink":        func() error { return unix.Unlink(d + "/unlink") },
			"symlink":       func() error { return unix.Symlink("read", d+"/symlink") },
			"fifo":          func() error { return unix.Mkfifo(d+"/fifo", 0o644) },
			"regular node":  func() error { return unix.Mknod(d+"/node", unix.S_IFREG|0o644, 0) },
			"char device":   func() error { return unix.Mknod(d+"/char", unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) },
			"block device":  func() error { return unix.Mknod(d+"/block", unix.S_IFBLK|0o644, int(unix.Mkdev(7, 99))) },
			"socket":        func() error { return bind(d + "/socket") },
			"connect":       func() error { return connect(d + "/listening") },
			"rename":        func() error { return unix.Rename(d+"/rename", d+"/renamed") },
			"link":          func() error { return unix.Link(d+"/read", d+"/linked") },
			"chmod":         func() error { return unix.Chmod(d+"/read", 0o644) },
		} {
			out[name+" in "+p] = do
		}
		for i, q := range places {
			to := fmt.Sprintf("%s/%s/from-%s-%d", tree, q, filepath.Base(p), i)
			out["rename "+p+" to "+q] = func() error { return unix.Rename(fmt.Sprintf("%s/cross-%d", d, i), to) }
			out["link "+p+" to "+q] = func() error { return unix.Link(d+"/read", to+"-link") }
			out["move dir "+p+" to "+q] = func() error { return unix.Rename(fmt.Sprintf("%s/dir-%d", d, i), to+"-dir") }
		}
	}
	return out
}

func openClose(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func bind(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return l.Close()
}

func connect(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return c.Close()
}

// plant makes the tree that attempts expect. It is not below a directory that the policy gives anything of.
func plant(t *testing.T) string {
	t.Helper()
	tree, err := os.MkdirTemp("/var/tmp", "tc")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(tree)) })
	write := func(p string) { require.NoError(t, os.WriteFile(p, []byte("x"), 0o644)) }
	write(tree + "/one")
	write(tree + "/two")
	for _, p := range places {
		d := tree + "/" + p
		require.NoError(t, os.MkdirAll(d+"/empty", 0o755))
		for _, f := range []string{"read", "write", "truncate", "truncate2", "unlink", "rename"} {
			write(d + "/" + f)
		}
		for i := range places {
			write(fmt.Sprintf("%s/cross-%d", d, i))
			require.NoError(t, os.Mkdir(fmt.Sprintf("%s/dir-%d", d, i), 0o755))
		}
		copyFile(t, "/bin/true", d+"/true")
		l, err := net.Listen("unix", d+"/listening")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
	}
	copyFile(t, "/proc/self/exe", tree+"/lib/self")
	return tree
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o755))
}

// policy is the tree's.
func policy(tree string, abi int) Spec {
	image := &rootfs.Image{Binds: []rootfs.Bind{
		{Target: "/usr", Exec: true}, {Target: "/lib", Exec: true}, {Target: "/lib64", Exec: true},
		{Target: tree + "/lib", Exec: true}, {Target: tree + "/data"}, {Target: tree + "/one", File: true},
	}}
	return Spec{Kernel: Kernel{Landlock: abi}, Image: image, Mounts: []Mount{
		{Target: tree + "/ro"}, {Target: tree + "/work", Writable: true}, {Target: tree + "/work/bin", Writable: true, Exec: true},
	}}
}

// byPlan runs the attempts under the plan's own steps.
func byPlan(t *testing.T, tree string, abi int) map[string]string {
	t.Helper()
	c := &compiler{spec: policy(tree, abi)}
	c.Call("stdout", plan.Dup3, args(plan.FD(plan.FirstFD), plan.Num(1), plan.Num(0)), plan.Want(1))
	c.Call("stderr", plan.Dup3, args(plan.FD(plan.FirstFD), plan.Num(2), plan.Num(0)), plan.Want(2))
	c.prctl("", unix.PR_SET_NO_NEW_PRIVS, "", 1)
	c.landlock()
	shape, err := c.Shape()
	require.NoError(t, err)
	steps, err := shape.Encode()
	require.NoError(t, err)
	self := tree + "/lib/self"
	arg, err := json.Marshal(tries{Tree: tree})
	require.NoError(t, err)
	start, err := plan.Encode(plan.Program{Paths: []string{self}, Argv: []string{self}, Env: []string{triesVariable + "=" + string(arg)}})
	require.NoError(t, err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	req := forked.Request{N: plan.FirstFD - plan.ChannelFD + 1}
	for place, fd := range map[int]int{
		plan.ChannelFD: pair[1], plan.AttentionFD: pair[1], plan.PlanFD: memory(t, steps), plan.ProgramFD: memory(t, start), plan.FirstFD: int(w.Fd()),
	} {
		req.FDs[place-plan.ChannelFD] = int32(fd)
	}
	forker, err := forked.NewForker()
	require.NoError(t, err)
	runtime.LockOSThread()
	pid, pidfd, errno := forker.Fork(&req)
	runtime.UnlockOSThread()
	require.Zero(t, errno)
	require.NoError(t, unix.Close(pidfd))
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	_, err = unix.Wait4(pid, nil, 0, nil)
	require.NoError(t, err)
	return parsed(t, out)
}

func memory(t *testing.T, data []byte) int {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	_, err = unix.Write(fd, data)
	require.NoError(t, err)
	return fd
}

// byOracle runs the attempts under go-landlock; version 0 runs them free.
func byOracle(t *testing.T, tree string, abi int) map[string]string {
	t.Helper()
	arg, err := json.Marshal(tries{Tree: tree, Version: abi, Rules: Rules(policy(tree, abi))})
	require.NoError(t, err)
	cmd := exec.Command(tree + "/lib/self")
	cmd.Env = []string{triesVariable + "=" + string(arg)}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return parsed(t, out)
}

func parsed(t *testing.T, out []byte) map[string]string {
	t.Helper()
	verdicts := map[string]string{}
	require.NoError(t, json.Unmarshal(out, &verdicts), "%s", out)
	return verdicts
}

// The plan's own system calls give the verdicts that go-landlock gives with the same policy, at every version that the
// kernel has; and the ones that the policy is meant to give.
func TestVerdictsAreGoLandlocks(t *testing.T) {
	newest, err := ll.LandlockGetABIVersion()
	if err != nil || newest < 1 {
		if os.Getenv("TOOLCELL_TEST_REQUIRE") != "" {
			t.Fatal("this kernel has no Landlock", err)
		}
		t.Skip("this kernel has no Landlock", err)
	}
	free := byOracle(t, plant(t), 0)
	for abi := 1; abi <= min(newest, 9); abi++ {
		t.Run(fmt.Sprint("version ", abi), func(t *testing.T) {
			byPlan, oracle := byPlan(t, plant(t), abi), byOracle(t, plant(t), abi)
			assert.Equal(t, oracle, byPlan)
			assert.Len(t, byPlan, len(attempts("")))
			want := meant(abi, free)
			assert.Greater(t, len(want), 70)
			for name, want := range want {
				assert.Equal(t, want, byPlan[name], name)
			}
		})
	}
}

// meant are the verdicts that the policy is written for, as far as they could be otherwise without it.
func meant(abi int, free map[string]string) map[string]string {
	const no = "EACCES"
	out := map[string]string{}
	changes := []string{
		"write", "create", "mkdir", "rmdir", "unlink", "symlink", "fifo", "regular node", "socket", "rename",
	}
	if abi >= 3 {
		changes = append(changes, "truncate", "open truncate")
	}
	for _, p := range places {
		writable := p == "work" || p == "work/bin"
		for _, c := range changes {
			out[c+" in "+p] = no
			if writable {
				out[c+" in "+p] = "ok"
			}
		}
		out["char device in "+p], out["block device in "+p] = no, no
		out["read in "+p], out["run in "+p] = "ok", no
		if p == "outside" {
			out["read in "+p] = no
		}
		if p == "lib" || p == "work/bin" {
			out["run in "+p] = "ok"
		}
		out["list in "+p], out["chmod in "+p] = "ok", "ok" // names are no secret; Landlock has no right for modes
	}
	out["read one file"], out["write one file"], out["read beside it"] = "ok", no, no
	out["rename work/bin to work/bin"], out["rename work to data"], out["rename data to work"] = "ok", no, no
	// A move to where less is allowed is fine from version 2 on; one that would gain a right never is.
	out["rename work/bin to work"], out["rename work to work/bin"] = "ok", "EXDEV"
	if abi < 2 {
		out["rename work/bin to work"] = "EXDEV"
	}
	for name := range out {
		if free[name] != "ok" {
			delete(out, name) // it proves nothing here
		}
	}
	return out
}
