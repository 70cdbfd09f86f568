// Reports and channels.
const dc = require('diagnostics_channel')
dc.subscribe('mine', (m, name) => console.log(name, m))
dc.channel('mine').publish({ a: 1 })
const r = process.report.getReport()
console.log(r.header.commandLine, r.header.cwd, r.header.event, r.javascriptStack.message, r.workers, Object.keys(r.environmentVariables).length)
console.log(r.libuv.map(h => h.type))
