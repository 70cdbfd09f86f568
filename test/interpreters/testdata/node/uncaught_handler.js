// ends: exit 2
// The program's own handlers for errors that nobody catches.
process.on('uncaughtExceptionMonitor', (e, from) => console.log('monitor', e.message, from))
process.once('uncaughtException', (e, from) => {
  console.log('handler', e.message, from)
  process.exitCode = 2
  setTimeout(() => console.log('goes on'))
})
setImmediate(() => { throw new Error('first') })
