// Children by exec, spawn and their synchronous forms.
const cp = require('child_process')
console.log(cp.spawnSync('sh', ['-c', 'echo out; echo err >&2; exit 3']).output.map(String))
console.log(cp.spawnSync('sh', ['-c', 'kill -9 $$']).signal, cp.spawnSync('no-such-program').error.code)
cp.exec('cat; exit 4', (e, out) => {
  console.log(e.code, e.killed, e.cmd, JSON.stringify(out))
  const c = cp.spawn('sort', { stdio: ['pipe', 'inherit', 'inherit'] })
  c.on('exit', (code, s) => console.log('exit', code, s)).on('close', code => console.log('close', code))
  c.stdin.end('b\na\n')
}).stdin.end('given')
