// Modules that need each other, and the program itself.
exports.early = 1
const a = require('./a.cjs')
exports.late = 2
console.log(a, require('./main.cjs') === module.exports, module.children.length)
import('./a.cjs').then(m => console.log(m.default === a, m))
