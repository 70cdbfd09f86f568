// The operator's own options hold.
console.log(process.execArgv, process.env.NODE_OPTIONS, process.throwDeprecation, new Error('e').stack.split('\n').length)
