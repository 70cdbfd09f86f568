package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shell = `set -e
cd "$1"
seq 1000 | sort -rn | head -3 | tr '\n' ' ' > out
test "$(cat out)" = "1000 999 998 "
mkfifo pipe; (echo through > pipe) & read -r word < pipe; wait; test "$word" = through
mkdir -p a/b; cp out a/b/; mv a/b/out a/; ln -s a/out link; cat < link > copy; cmp a/out copy
tar cf a.tar a; tar tf a.tar | grep -q a/out
ulimit -n > /dev/null; umask 077; date > /dev/null; sleep 0.01; timeout 5 true; nice -n 1 true
exec 3<> /dev/null; echo done`

const python = `
import asyncio, ctypes, json, mmap, multiprocessing, os, queue, select, signal, socket, sqlite3, ssl, subprocess, sys
import tempfile, threading, time

def square(x): return x * x

def threads():
    q = queue.Queue()
    ts = [threading.Thread(target=q.put, args=(i,)) for i in range(8)]
    [t.start() for t in ts]; [t.join() for t in ts]
    assert sorted(q.get() for _ in ts) == list(range(8))

def processes():
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, range(5)) == [0, 1, 4, 9, 16], method

async def echo():
    async def serve(r, w):
        w.write(await r.readline()); await w.drain(); w.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname())
    w.write(b"hello\n")
    assert await r.readline() == b"hello\n"
    w.close(); server.close()
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=subprocess.PIPE)
    assert (await p.communicate())[0] == b"1\n"

def database(directory):
    db = sqlite3.connect(os.path.join(directory, "t.db"))
    db.execute("pragma journal_mode=wal"); db.execute("create table t(x)")
    db.executemany("insert into t values(?)", [(i,) for i in range(100)]); db.commit()
    assert db.execute("select sum(x) from t").fetchone() == (4950,)

def sockets():
    a, b = socket.socketpair(); a.sendall(b"x"); assert b.recv(1) == b"x"
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 0))
    socket.getaddrinfo("127.0.0.1", 80)
    ctx = ssl.create_default_context(); ctx.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
    for refused in (socket.AF_PACKET, socket.SOCK_RAW), (40, socket.SOCK_STREAM):
        try: socket.socket(*refused)
        except OSError as e: assert e.errno == 97, e
        else: raise AssertionError(refused)

def main():
    threads(); processes(); asyncio.run(echo()); sockets()
    with tempfile.TemporaryDirectory() as d: database(d)
    m = mmap.mmap(-1, 4096); m[:2] = b"ok"
    os.close(os.memfd_create("x")); os.close(os.pidfd_open(os.getpid()))
    master, slave = os.openpty(); assert os.isatty(slave)
    assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
    print("done")

if __name__ == "__main__": main()
`

const node = `
const { Worker, isMainThread, parentPort } = require('worker_threads')
if (!isMainThread) { parentPort.postMessage(41 + 1); return }
const fs = require('fs'), net = require('net'), cp = require('child_process'), crypto = require('crypto')
const worker = () => new Promise((ok, bad) => new Worker(__filename).on('message', ok).on('error', bad))
const echo = () => new Promise((ok, bad) => {
  const server = net.createServer(c => c.pipe(c)).listen(0, '127.0.0.1', () => {
    const c = net.connect(server.address().port, '127.0.0.1', () => c.write('hello'))
    c.on('data', d => { c.end(); server.close(); ok(String(d)) }).on('error', bad)
  })
})
async function main() {
  if ((await Promise.all([worker(), worker()])).join() !== '42,42') throw 'worker'
  if (await echo() !== 'hello') throw 'net'
  if (cp.execFileSync(process.execPath, ['-p', '1+1']).toString() !== '2\n') throw 'child'
  await fs.promises.writeFile(process.argv[2] + '/f', crypto.randomBytes(10))
  if ((await fs.promises.stat(process.argv[2] + '/f')).size !== 10) throw 'fs'
  console.log('done')
}
main().catch(e => { console.error(e); process.exit(1) })
`

const golang = `package main

import ("fmt"; "net"; "os/exec"; "sync")

func main() {
	var wg sync.WaitGroup
	for range 100 { wg.Go(func() { exec.Command("true").Run() }) }
	wg.Wait()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil { panic(err) }
	if _, err := net.Dial("tcp", l.Addr().String()); err != nil { panic(err) }
	fmt.Println("done")
}
`

const java = `import java.util.concurrent.*;
class Main {
  public static void main(String[] a) throws Exception {
    ExecutorService e = Executors.newFixedThreadPool(4);
    int sum = 0;
    for (int i = 0; i < 10; i++) { int n = i; sum += e.submit(() -> n).get(); }
    e.shutdown();
    Process p = new ProcessBuilder("true").start();
    if (sum != 45 || p.waitFor() != 0) throw new Exception();
    System.out.println("done");
  }
}
`

// TestRealPrograms runs what tools are made of under the filter. Each ends with the word "done".
func TestRealPrograms(t *testing.T) {
	script := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for name, argv := range map[string][]string{
		"bash":      {"bash", "-c", shell, "bash", t.TempDir()},
		"python":    {"python3", script("main.py", python)},
		"node":      {"node", script("main.js", node), t.TempDir()},
		"go":        {"go", "run", script("main.go", golang)},
		"java":      {"java", script("Main.java", java)},
		"coreutils": {"sh", "-c", "ls -lR /usr/bin >/dev/null && stat / >/dev/null && df / >/dev/null && id >/dev/null && nproc >/dev/null && echo done"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(argv[0]); err != nil {
				missing(t, argv[0])
			}
			out, err := victimCommand(t, strict, "exec", argv...).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Contains(t, string(out), "done\n")
		})
	}
}
