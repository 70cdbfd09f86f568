// Node.js requires this before its program. It waits for the call that this process was started for, takes its environment,
// and leaves nothing behind. Worker threads load it again and have no call to wait for.
'use strict';

const fs = require('fs');

function read(fd, n) {
  const data = Buffer.alloc(n);
  for (let have = 0; have < n;) {
    const got = fs.readSync(fd, data, have, n - have, null);
    if (got === 0) throw new Error('end of file');
    have += got;
  }
  return data;
}

function* entries(data) {
  for (let at = 0; at < data.length;) {
    const size = data.readUInt32BE(at);
    const text = data.toString('utf8', at + 4, at + 4 + size);
    at += 4 + size;
    const equals = text.indexOf('=');
    if (at > data.length || equals < 1) throw new Error('malformed');
    yield [text.slice(0, equals), text.slice(equals + 1)];
  }
}

function take(fd) {
  // The streams take time to make, and are the same for every program.
  void process.stdout;
  void process.stderr;
  fs.writeSync(fd, 'R');
  const head = read(fd, 12);
  if (head.toString('latin1', 0, 8) !== 'toolcell') throw new Error('malformed');
  const call = [...entries(read(fd, head.readUInt32BE(8)))];
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of call) process.env[name] = value;
  if (fs.writeSync(fd, 'G') !== 1) throw new Error('not taken');
  fs.closeSync(fd);
}

function forget() {
  const Module = module.constructor;
  delete Module._cache[__filename];
  for (const key of Object.keys(Module._pathCache)) {
    if (Module._pathCache[key] === __filename) delete Module._pathCache[key];
  }
  const own = process._preload_modules.indexOf(__filename);
  if (own >= 0) process._preload_modules.splice(own, 1);
}

try {
  forget();
  if (process.env.TOOLCELL_AHEAD !== undefined) take(Number(process.env.TOOLCELL_AHEAD));
} catch {
  process.reallyExit(125);
}
