// A pipe is made non-blocking when its stream is made.
const fs = require('fs')
const flags = fs.readFileSync('/proc/self/fdinfo/1', 'utf8').match(/flags:\s*(\d+)/)[1]
console.log((parseInt(flags, 8) & fs.constants.O_NONBLOCK) !== 0)
