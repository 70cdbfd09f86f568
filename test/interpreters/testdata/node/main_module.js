// The module that the program is.
console.log(require.main === module, module.id, module.filename, module.loaded, module.parent, module.children)
console.log(module.paths, require.resolve.paths('x'))
console.log(Object.keys(require.cache), Object.keys(require.extensions))
console.log(__filename, __dirname, typeof exports, exports === module.exports, this === exports, arguments.length)
console.log(module.constructor.name, module.isPreloading, require('module').globalPaths)
