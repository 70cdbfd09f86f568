// The hook's directory is shown to the program.
console.log(require('fs').existsSync('/etc/toolcell/ahead.js'))
