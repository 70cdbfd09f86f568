// Contexts of their own, and code without a file.
const vm = require('vm')
const c = vm.createContext({ console, x: 1 })
vm.runInContext('var y = x + 1; console.log(typeof require, typeof process, y)', c)
console.log(c.y, vm.runInNewContext('Object') === Object, vm.runInThisContext('typeof require'), vm.isContext(c))
try { vm.runInThisContext('f()', { filename: 'made.js', lineOffset: 10 }) } catch (e) { console.log(e.stack) }
try { new vm.Script('a b', 'bad.js') } catch (e) { console.log(e.stack.split('\n').slice(0, 5)) }
try { vm.runInThisContext('while (true);', { timeout: 5 }) } catch (e) { console.log(e.code) }
console.log(eval('__filename'), new Function('return typeof require')())
