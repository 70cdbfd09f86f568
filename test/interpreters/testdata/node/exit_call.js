// ends: exit 7
// process.exit ends at once, and its listeners have the last word.
process.on('exit', c => { console.log('exit', c); process.exitCode = 7 })
setTimeout(() => console.log('never'), 0)
process.nextTick(() => console.log('never'))
console.log('out')
process.exit()
