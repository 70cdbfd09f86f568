// ends: exit 3
// The code that is set, and one last word.
process.exitCode = 3
process.on('beforeExit', c => console.log('beforeExit', c))
process.on('exit', c => { console.log('exit', c, process.exitCode) })
