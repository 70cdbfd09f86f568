// ends: exit 0
// The limit of a heap, as an option of the program's children and of the runtime's own.
const v8 = require('v8')
v8.setFlagsFromString('--stack-size=500')
let n = 0
function f () { n++; f() }
try { f() } catch (e) { console.log(e.message, n > 1000) }
console.log(v8.getHeapSpaceStatistics().map(s => s.space_name), v8.getHeapStatistics().number_of_native_contexts)
