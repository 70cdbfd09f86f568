// The environment, each way that there is to see it.
const { execFileSync } = require('child_process')
for (const k of Object.keys(process.env)) console.log(k, JSON.stringify(process.env[k]))
console.log('NODE_OPTIONS' in process.env, process.env.NODE_OPTIONS, process.env.GIVEN)
process.env.ADDED = 3
delete process.env.TAKEN
console.log(execFileSync('env').toString())
console.log(execFileSync('env', { env: { ONE: '1' } }).toString())
