// ends: exit 0
// Warnings, once each.
process.on('warning', w => console.log('event', w.name, w.code, w.message))
process.emitWarning('own', { code: 'W1', detail: 'the detail' })
process.emitWarning('own', 'DeprecationWarning', 'W2')
Buffer(3)
new Buffer(3)
const e = new (require('events'))()
for (let i = 0; i < 12; i++) e.on('x', () => {})
