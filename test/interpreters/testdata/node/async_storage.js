// Storage that follows calls.
const { AsyncLocalStorage, AsyncResource, executionAsyncId, triggerAsyncId } = require('async_hooks')
const s = new AsyncLocalStorage()
console.log(s.getStore(), executionAsyncId(), triggerAsyncId())
s.run({ n: 1 }, () => {
  setTimeout(() => { console.log('timer', s.getStore()); setImmediate(() => console.log('immediate', s.getStore())) })
  Promise.resolve().then(() => console.log('promise', s.getStore()))
  process.nextTick(() => console.log('tick', s.getStore()))
})
const r = s.run(2, () => new AsyncResource('R'))
r.runInAsyncScope(() => console.log(s.getStore()))
s.enterWith(3)
console.log(s.getStore(), s.exit(() => s.getStore()))
