// Modules of the program's, JSON, and what cannot be found.
console.log(require('./lib'), require('./data'), require('./lib') === require('./lib/index.js'))
console.log(Object.keys(require.cache), module.children.map(m => m.id), require('pkg').name)
for (const name of ['./nowhere', 'no-such-package', './broken.js', './bad.json']) {
  try { require(name) } catch (e) { console.log(e.name, e.code, e.message, e.requireStack) }
}
delete require.cache[require.resolve('./lib')]
console.log(require('./lib').n, require.resolve('fs'), require('module').isBuiltin('node:fs'))
