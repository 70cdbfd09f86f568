// Weak references, and a collector that cannot be called.
console.log(typeof gc, new WeakRef({ a: 1 }).deref(), new FinalizationRegistry(() => {}) instanceof Object)
const used = process.memoryUsage()
console.log(Object.keys(used), used.heapUsed > 1e6, used.heapUsed < 5e7)
