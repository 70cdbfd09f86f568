// Open descriptors: what each is.
const fs = require('fs')
for (const n of [0, 1, 2]) {
  const s = fs.fstatSync(n)
  console.log(n, s.isFIFO(), s.isCharacterDevice(), fs.readFileSync(`/proc/self/fdinfo/${n}`, 'utf8').split('\n').slice(0, 2))
}
console.log(require('child_process').execFileSync('ls', ['/proc/self/fd']).toString().split('\n'))
