// A recursion ends with an error, and its trace is as long as it is set to be.
console.log(Error.stackTraceLimit)
Error.stackTraceLimit = 3
function f () { return f() + 1 }
try { f() } catch (e) { console.log(e.name, e.message); console.log(e.stack) }
