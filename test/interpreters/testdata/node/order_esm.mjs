// The order in a module: ticks come after the promises there.
import fs from 'node:fs'
console.log('sync')
process.nextTick(() => console.log('tick'))
Promise.resolve().then(() => console.log('promise'))
queueMicrotask(() => console.log('microtask'))
await null
console.log('awaited')
await new Promise(resolve => setImmediate(resolve))
console.log('immediate')
await new Promise(resolve => fs.stat('.', resolve))
console.log('read')
