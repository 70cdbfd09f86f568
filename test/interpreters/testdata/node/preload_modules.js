// Nothing was loaded before the program.
const Module = require('module')
console.log(process._preload_modules, Object.keys(Module._cache), Object.keys(Module._pathCache))
console.log(Module._extensions === require.extensions, Module.builtinModules.length)
console.log(Object.getOwnPropertyNames(Module).sort().join(' '))
