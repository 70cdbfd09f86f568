// ends: exit 1
"use strict"
console.log(this === module.exports, (function () { return this })(), __filename)
try { undeclared = 1 } catch (e) { console.log(e.message) }
console.log(delete Object.freeze([1]).length)
