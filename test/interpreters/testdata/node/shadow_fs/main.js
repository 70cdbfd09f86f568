// Nothing of the program's hides a module of the runtime.
console.log(require('fs').own, require('./fs').own, require('node:fs') === require('fs'))
