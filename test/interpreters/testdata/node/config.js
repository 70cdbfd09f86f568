// How the runtime is built and how it was started.
console.log(process.versions, Object.keys(process.config.variables).length)
const v8 = require('v8')
console.log(v8.getHeapStatistics().heap_size_limit, v8.startupSnapshot.isBuildingSnapshot(), v8.cachedDataVersionTag())
console.log(process.constrainedMemory?.(), require('os').availableParallelism())
