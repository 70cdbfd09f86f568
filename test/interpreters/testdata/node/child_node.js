// A node that the program starts is an ordinary one.
const { execFileSync } = require('child_process')
const code = 'console.log(process.argv, process.execArgv, process._preload_modules, Object.keys(require.cache), process.env.NODE_OPTIONS)'
console.log(execFileSync(process.execPath, ['-e', code, 'x']).toString())
console.log(execFileSync(process.execPath, ['--no-warnings', '-p', 'process.execArgv']).toString())
