// The order of everything that is put off.
console.log('sync')
process.nextTick(() => console.log('tick 1'))
Promise.resolve().then(() => { console.log('promise 1'); process.nextTick(() => console.log('tick in promise')) }).then(() => console.log('promise 2'))
queueMicrotask(() => console.log('microtask'))
process.nextTick(() => { console.log('tick 2'); Promise.resolve().then(() => console.log('promise in tick')) })
;(async () => { console.log('async'); await null; console.log('awaited') })()
require('fs').readFile(__filename, () => {
  console.log('read')
  setTimeout(() => console.log('timeout 0'), 0)
  setImmediate(() => { console.log('immediate'); process.nextTick(() => console.log('tick in immediate')) })
  process.nextTick(() => console.log('tick in read'))
})
console.log('end')
