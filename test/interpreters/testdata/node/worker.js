// A worker has the program's arguments and environment, and modules of its own.
const { Worker, isMainThread, parentPort, workerData, threadId, resourceLimits } = require('worker_threads')
if (isMainThread) {
  console.log(threadId, resourceLimits, workerData, parentPort)
  const w = new Worker(__filename, { workerData: { n: 7 }, argv: ['own'], env: { ...process.env, ADDED: '1' } })
  w.on('message', m => console.log(m)).on('exit', c => console.log('exit', c))
} else {
  parentPort.postMessage({
    threadId, workerData, argv: process.argv, execArgv: process.execArgv, added: process.env.ADDED, options: process.env.NODE_OPTIONS,
    cache: Object.keys(require.cache), preload: process._preload_modules, main: require.main === module, stack: new Error('w').stack
  })
  process.exitCode = 3
}
