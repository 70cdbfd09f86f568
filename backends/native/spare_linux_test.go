package native

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// spareBackend opens a backend that makes namespaces ahead, with one set ready.
func spareBackend(t *testing.T) *Backend {
	t.Helper()
	c := testConfig()
	c.NamespacesAhead = true
	opened, err := Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	b := opened.(*Backend)
	b.must(t, "true")
	b.awaitSpare(t)
	return b
}

func (b *Backend) awaitSpare(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(b.spawners(), func(l *lane) bool { return l.spare.Load() == spareReady })
	}, 20*time.Second, time.Millisecond, "the spawner makes namespaces")
}

// mustSpare makes a call that takes a set of namespaces.
func (b *Backend) mustSpare(t *testing.T, script string) string {
	t.Helper()
	b.awaitSpare(t)
	before := b.ArmedStats().InNamespaces
	r := b.must(t, script)
	require.Equal(t, before+1, b.ArmedStats().InNamespaces)
	require.Empty(t, string(r.Stderr))
	return string(r.Stdout)
}

const namespaces = "readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts"

// namespacesOf are those of a process that can be made ahead.
func namespacesOf(t *testing.T, pid int) []string {
	t.Helper()
	var out []string
	for _, kind := range []string{"net", "ipc", "uts"} {
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		require.NoError(t, err)
		out = append(out, ns)
	}
	return out
}

// A call is in the namespaces that its spawner waited in for it, which are none of the host's.
func TestSpareNamespacesAreTheCalls(t *testing.T) {
	b := spareBackend(t)
	spawner := b.spawners()[0].process.pid
	made := namespacesOf(t, spawner)
	seen := strings.Fields(b.mustSpare(t, namespaces))
	assert.Equal(t, made, seen)
	for i, host := range namespacesOf(t, os.Getpid()) {
		assert.NotEqual(t, host, seen[i])
	}
}

// A sandbox in namespaces that were made ahead is as any other.
func TestSpareNamespacesAreTheSame(t *testing.T) {
	script := `cat /proc/net/dev | cut -d: -f1; cat /proc/net/if_inet6 /proc/net/route /proc/net/unix | sed 's/^[0-9a-f]*: //'; hostname
cat /proc/sysvipc/* | wc -l; cat /proc/sys/net/ipv4/ping_group_range /proc/sys/kernel/domainname /proc/sys/kernel/shmmax
python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print(c.getpeername()[0])
for f in lambda: socket.sethostname("x"), lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1):
    try: f(); print("did")
    except OSError as e: print(e.errno)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: s.connect(("192.0.2.1", 9)); print("a route")
except OSError as e: print(e.errno)
'`
	own := testBackend(t).must(t, script)
	require.Contains(t, string(own.Stdout), "127.0.0.1", "control: %s", own.Stderr)
	assert.Equal(t, string(own.Stdout), spareBackend(t).mustSpare(t, script))
}

// Nothing that one call leaves in its namespaces is there for the next.
func TestSpareNamespacesKeepNothing(t *testing.T) {
	b := spareBackend(t)
	find := `import ctypes, socket
print(ctypes.CDLL(None).shmget(4711, 0, 0) >= 0)
for family, name in (socket.AF_UNIX, "\0left"), (socket.AF_INET, ("127.0.0.1", 4711)):
    print(socket.socket(family).connect_ex(name))
print(len(open("/proc/sysvipc/shm").readlines()))
`
	leave := `import ctypes, socket
ctypes.CDLL(None).shmget(4711, 4096, 0o1666)
s = socket.socket(socket.AF_UNIX); s.bind("\0left"); s.listen()
d = socket.create_server(("127.0.0.1", 4711))
`
	for range 3 {
		require.Equal(t, "True\n0\n0\n2\n", b.mustSpare(t, "python3 -c '"+leave+find+"'"), "control")
		assert.Equal(t, "False\n111\n111\n1\n", b.mustSpare(t, "python3 -c '"+find+"'"))
	}
}

// Calls in a burst, of which there are more than sets, make their own.
func TestSpareNamespacesInABurst(t *testing.T) {
	b := spareBackend(t)
	ch := make(chan string, 12)
	for range cap(ch) {
		go func() {
			r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command(namespaces+"; sleep 0.3"))
			assert.NoError(t, err)
			ch <- string(r.Stdout)
		}()
	}
	var all []string
	for range cap(ch) {
		all = append(all, strings.Fields(<-ch)...)
	}
	slices.Sort(all)
	assert.Len(t, all, 3*cap(ch))
	assert.Len(t, slices.Compact(all), 3*cap(ch))
}

// Without being asked to, a backend makes none.
func TestSpareNamespacesAreAskedFor(t *testing.T) {
	b := testBackend(t)
	b.must(t, "true")
	for _, l := range b.spawners() {
		assert.EqualValues(t, spareNone, l.spare.Load())
	}
	assert.Zero(t, b.ArmedStats().InNamespaces)
}

// What one call has taken is not there for another, whatever the others ask for in the meantime.
func TestSpareNamespacesAmongManyCallers(t *testing.T) {
	b := spareBackend(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command("echo x"))
				if assert.NoError(t, err) {
					assert.Equal(t, "x\n", string(r.Stdout))
				}
			}
		})
	}
	wg.Wait()
}

// Namespaces that a call took and could not use are still there.
func TestSpareNamespacesOfACallThatFails(t *testing.T) {
	b := spareBackend(t)
	for range 3 {
		_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true", strings.Repeat("x", 1<<18)}})
		require.Error(t, err, "an argument that no program can have")
		_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"/nonexistent"}})
		require.Error(t, err)
		b.mustSpare(t, "true")
	}
}
