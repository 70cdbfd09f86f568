// beforeExit comes again as long as there is work.
let n = 0
process.on('beforeExit', () => { console.log('beforeExit', n); if (n++ < 2) setImmediate(() => console.log('more')) })
process.on('exit', () => console.log('exit'))
