// What a program knows of its command line.
console.log(process.argv, process.execArgv, process.execPath, process.argv0, process.title)
console.log(process.argv.length, require('path').basename(__filename), __dirname)
console.log(require('fs').readFileSync('/proc/self/cmdline', 'latin1').split('\0'))
