// What is made asynchronously, from now on.
const hooks = require('async_hooks')
const fs = require('fs')
const seen = []
const h = hooks.createHook({ init (id, type, trigger) { seen.push(type) } }).enable()
setTimeout(() => {
  h.disable()
  console.log(seen)
})
fs.stat('.', () => {})
Promise.resolve().then(() => {})
process.nextTick(() => {})
