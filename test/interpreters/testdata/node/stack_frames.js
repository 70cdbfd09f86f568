// Which frames lie below the program's.
console.log(new Error('e').stack)
Error.prepareStackTrace = (e, frames) => frames.map(f => [f.getFunctionName(), f.getFileName(), f.getLineNumber(), f.isNative(), f.isToplevel(), f.isEval()])
console.log(new Error().stack)
Error.prepareStackTrace = undefined
setTimeout(() => {
  console.log(new Error('timer').stack)
  setImmediate(() => console.log(new Error('immediate').stack))
})
process.nextTick(() => console.log(new Error('tick').stack))
Promise.resolve().then(() => console.log(new Error('promise').stack))
