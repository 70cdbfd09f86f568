//go:build unix

package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// ownVariables are the names that a sandbox sets itself.
var ownVariables = strings.Fields("PATH HOME TMPDIR TMP TEMP USER LOGNAME SHELL HOSTNAME LANG LC_ALL TZ TERM")

// environment: what the Command names, then what the profile names, then the sandbox's own; nothing of the caller.
func (e *env) environment(t *testing.T) {
	t.Run("nothing of the host", func(t *testing.T) {
		for _, v := range see[[]string](t, e, e.profile(), "environ") {
			name, value, _ := strings.Cut(v, "=")
			assert.NotContains(t, value, secret, "%s", name)
			own := slices.Contains(ownVariables, name) || strings.HasPrefix(name, "XDG_")
			assert.True(t, own, "%s is not a variable that a sandbox sets", v)
		}
	})
	t.Run("precedence", func(t *testing.T) {
		p := e.with(func(p *sandbox.ContainerProfile) { p.Env = []string{"A=profile", "B=profile", "LANG=profile"} })
		c := sandbox.Command{Argv: e.probe("environ"), Env: []string{"B=call", "C=a=b\nc \xff", "E="}}
		out := e.ok(t, p, sandbox.Command{Argv: []string{"env", "-0"}, Env: c.Env})
		vars := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
		for _, want := range []string{"A=profile", "B=call", "LANG=profile", "C=a=b\nc \xff", "E="} {
			assert.Contains(t, vars, want)
		}
		assert.NotContains(t, vars, "B=profile")
		names := map[string]int{}
		for _, v := range vars {
			name, _, _ := strings.Cut(v, "=")
			names[name]++
		}
		for name, n := range names {
			assert.Equal(t, 1, n, "%s is there %d times", name, n)
		}
	})
	t.Run("the call wins over the sandbox", func(t *testing.T) {
		c := sh("echo $HOME $PATH")
		c.Env = []string{"HOME=/tmp/mine", "PATH=/usr/bin:/bin"}
		assert.Equal(t, "/tmp/mine /usr/bin:/bin\n", e.ok(t, e.profile(), c))
	})
	t.Run("usable directories", func(t *testing.T) {
		out := e.ok(t, e.profile(), sh(`for d in "$HOME" "${TMPDIR:-/tmp}" "${XDG_CACHE_HOME:-$HOME}" "${XDG_CONFIG_HOME:-$HOME}" \
			"${XDG_DATA_HOME:-$HOME}" "${XDG_RUNTIME_DIR:-/tmp}"; do
			mkdir -p "$d" && echo x > "$d/.probe" && rm "$d/.probe" || echo "bad: $d"; done`))
		assert.Empty(t, out)
		assert.Equal(t, "ok\n", e.ok(t, e.profile(), sandbox.Command{Argv: []string{"python3", "-c",
			"import pathlib, tempfile; tempfile.TemporaryFile(); pathlib.Path.home().joinpath('x').write_text('x'); print('ok')"}}))
	})
	t.Run("PATH", func(t *testing.T) {
		path := strings.TrimSpace(e.ok(t, e.profile(), sh("echo $PATH")))
		for _, dir := range strings.Split(path, ":") {
			assert.True(t, filepath.IsAbs(dir), "%q in PATH %q", dir, path)
		}
		assert.Contains(t, strings.Split(path, ":"), "/usr/bin")
	})
}

// identity: an unprivileged user that has a name, and nothing to gain.
func (e *env) identity(t *testing.T) {
	t.Run("ids", func(t *testing.T) {
		ids := see[map[string][]int](t, e, e.profile(), "ids")
		for _, kind := range []string{"uid", "gid"} {
			require.Len(t, ids[kind], 3)
			assert.NotZero(t, ids[kind][0])
			assert.Equal(t, []int{ids[kind][0], ids[kind][0], ids[kind][0]}, ids[kind])
		}
		assert.NotContains(t, ids["groups"], 0)
	})
	t.Run("asked for", func(t *testing.T) {
		p := e.with(func(p *sandbox.ContainerProfile) { p.User = "1234:4321" })
		ids := see[map[string][]int](t, e, p, "ids")
		assert.Equal(t, []int{1234, 1234, 1234}, ids["uid"])
		assert.Equal(t, []int{4321, 4321, 4321}, ids["gid"])
		e.ok(t, p, sh("id -un && touch /tmp/x /dev/shm/x"))
	})
	t.Run("passwd entry", func(t *testing.T) {
		assert.NotContains(t, e.ok(t, e.profile(), sh("id -un; id -gn; whoami")), "root")
		assert.NotEmpty(t, e.ok(t, e.profile(), sandbox.Command{Argv: []string{"python3", "-c",
			"import getpass, os, pwd, grp; print(getpass.getuser(), pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid()))"}}))
	})
	t.Run("privileges", e.privileges)
	t.Run("seen from the host", e.fromHost)
}

func (e *env) privileges(t *testing.T) {
	st := see[map[string]string](t, e, e.profile(), "status")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		n, err := strconv.ParseUint(st[set], 16, 64)
		require.NoError(t, err, "%s is %q", set, st[set])
		assert.Zero(t, n, "%s", set)
	}
	if e.OtherKernel {
		return
	}
	assert.Equal(t, "1", st["NoNewPrivs"])
	assert.Equal(t, "2", st["Seccomp"])
}

// fromHost: what the host sees of a running program is no root either.
func (e *env) fromHost(t *testing.T) {
	if e.OtherKernel {
		return
	}
	m := marker(t)
	out := newTap("hanging")
	done, cancel := e.background(t, e.profile(), sandbox.Command{Argv: e.probe("hang", m), Stdout: out})
	out.await(t, done)
	pids := holding(t, m)
	require.NotEmpty(t, pids)
	for _, pid := range pids {
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat("/proc/"+pid, &st))
		assert.NotZero(t, st.Uid)
		if os.Geteuid() == 0 {
			for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts"} {
				if ns == "user" && e.HostIDs {
					continue
				}
				mine, err := os.Readlink("/proc/self/ns/" + ns)
				require.NoError(t, err)
				theirs, err := os.Readlink("/proc/" + pid + "/ns/" + ns)
				require.NoError(t, err)
				assert.NotEqual(t, mine, theirs, "%s namespace is shared", ns)
			}
		}
	}
	cancel()
	<-done
}

// process: what a program inherits is set, not passed on from whoever called.
func (e *env) process(t *testing.T) {
	t.Run("descriptors", func(t *testing.T) {
		fds := see[map[string]string](t, e, e.profile(), "fds")
		var extra []string
		for fd, target := range fds {
			if n, err := strconv.Atoi(fd); err != nil || n > 2 {
				extra = append(extra, fd+" "+target)
			}
		}
		assert.Empty(t, extra)
		assert.Len(t, fds, 3)
	})
	t.Run("attributes", e.attributes)
	t.Run("limits", func(t *testing.T) {
		p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.OpenFiles, p.Limits.FileSizeMB = 99, 3 })
		l := see[map[string][2]uint64](t, e, p, "rlimits")
		assert.Equal(t, [2]uint64{99, 99}, l[strconv.Itoa(syscall.RLIMIT_NOFILE)])
		assert.Equal(t, [2]uint64{3 << 20, 3 << 20}, l[strconv.Itoa(syscall.RLIMIT_FSIZE)])
		core := l[strconv.Itoa(syscall.RLIMIT_CORE)]
		assert.LessOrEqual(t, core[1], uint64(1), "core dumps are off")
	})
	t.Run("limits are not the caller's", e.callerLimits)
	t.Run("signals are not the caller's", func(t *testing.T) {
		st := see[map[string]string](t, e, e.profile(), "status")
		assert.Equal(t, "0000000000000000", st["SigBlk"])
		out := e.ok(t, e.profile(), sh("grep SigIgn /proc/self/status"))
		assert.Equal(t, "SigIgn:\t0000000000000000\n", out)
	})
	t.Run("directory", func(t *testing.T) {
		for want, change := range map[string]func(*sandbox.ContainerProfile, *sandbox.Command){
			"/tmp":     func(*sandbox.ContainerProfile, *sandbox.Command) {},
			"/usr":     func(p *sandbox.ContainerProfile, _ *sandbox.Command) { p.Workdir = "/usr" },
			"/dev/shm": func(p *sandbox.ContainerProfile, c *sandbox.Command) { p.Workdir, c.Dir = "/usr", "/dev/shm" },
			probeDir:   func(_ *sandbox.ContainerProfile, c *sandbox.Command) { c.Dir = probeDir },
		} {
			p, c := e.profile(), sandbox.Command{Argv: []string{"pwd", "-P"}}
			change(&p, &c)
			assert.Equal(t, want+"\n", e.ok(t, p, c))
		}
	})
	t.Run("arguments", func(t *testing.T) {
		args := []string{"", " ", "a b", "-x", "--", "$HOME", "new\nline", `"'\`, strings.Repeat("x", sandbox.MaxArg-1)}
		assert.Equal(t, args, see[[]string](t, e, e.profile(), "args", args...))
	})
}

func (e *env) attributes(t *testing.T) {
	// The caller's own values are unusual, so that inheriting them shows.
	old := syscall.Umask(0o007)
	defer syscall.Umask(old)
	p := see[map[string]string](t, e, e.profile(), "process")
	assert.Equal(t, "0022", p["umask"])
	assert.Equal(t, "0", p["nice"])
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.NotEqual(t, host, p["hostname"])
	assert.NotEmpty(t, p["hostname"])
	assert.NotEqual(t, "1", p["pid"], "the program is not PID 1")
	n, err := strconv.Atoi(p["processes"])
	require.NoError(t, err)
	assert.LessOrEqual(t, n, 2, "only its own processes are visible")
	for line := range strings.Lines(p["cgroup"]) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		require.Len(t, parts, 3)
		assert.Equal(t, "/", parts[2], "the place in the host's cgroups shows")
	}
}

// callerLimits lowers the caller's own limits, to what an engine's command still starts under, and looks for them inside.
func (e *env) callerLimits(t *testing.T) {
	odd := map[int]uint64{syscall.RLIMIT_STACK: 17 << 20, syscall.RLIMIT_DATA: 1777 << 20}
	for res, value := range odd {
		var old syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(res, &old))
		lower := old
		lower.Cur = value
		require.NoError(t, syscall.Setrlimit(res, &lower))
		defer func() { require.NoError(t, syscall.Setrlimit(res, &old)) }()
	}
	fresh := &env{Suite: e.Suite, b: e.open(t)}
	l := see[map[string][2]uint64](t, fresh, fresh.profile(), "rlimits")
	for res, value := range odd {
		assert.NotEqual(t, value, l[strconv.Itoa(res)][0], "limit %d is the caller's", res)
	}
}
