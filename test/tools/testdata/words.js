// Counts words of the standard input, with a worker, a stream, a hash and a temporary file.
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Transform, pipeline } = require('node:stream');
const { promisify } = require('node:util');
const { Worker } = require('node:worker_threads');
const { execFileSync } = require('node:child_process');

async function main() {
  const counts = new Map();
  const words = new Transform({
    transform(chunk, _, done) {
      for (const w of chunk.toString().toLowerCase().match(/\p{L}+/gu) ?? []) counts.set(w, (counts.get(w) ?? 0) + 1);
      done(null, chunk);
    },
  });
  const copy = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'words-')), 'copy');
  await promisify(pipeline)(process.stdin, words, fs.createWriteStream(copy));
  const square = await new Promise((resolve, reject) => {
    const w = new Worker('require("node:worker_threads").parentPort.postMessage(12 ** 2)', { eval: true });
    w.once('message', resolve).once('error', reject);
  });
  console.log(JSON.stringify({
    words: Object.fromEntries([...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))),
    sha256: crypto.createHash('sha256').update(fs.readFileSync(copy)).digest('hex').slice(0, 16),
    square,
    child: execFileSync('tr', ['a-z', 'A-Z'], { input: 'child' }).toString(),
    big: String(2n ** 100n),
  }));
}

main().catch((e) => { console.error(e); process.exitCode = 1; });
