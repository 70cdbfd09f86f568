// No input is an empty one.
console.log(JSON.stringify(require('fs').readFileSync(0, 'latin1')))
process.stdin.on('data', d => console.log('never', d)).on('end', () => console.log('end'))
