// ends: exit 1
// A rejection that nobody handles ends the program.
process.on('exit', c => console.log('exit', c))
setTimeout(() => console.log('never'), 1000)
Promise.reject(new RangeError('nobody'))
