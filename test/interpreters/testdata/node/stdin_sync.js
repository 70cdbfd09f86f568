// The input at once.
const fs = require('fs')
const b = Buffer.alloc(3)
console.log(fs.readSync(0, b), b.toString(), JSON.stringify(fs.readFileSync(0, 'utf8')), fs.readSync(0, b))
