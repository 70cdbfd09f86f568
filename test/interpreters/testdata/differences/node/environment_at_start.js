// The kernel's copy of the environment is that of the start.
console.log(('\0' + require('fs').readFileSync('/proc/self/environ', 'latin1')).includes('\0LATE='))
