// Output and errors of a size.
try { 'x'.repeat(2 ** 30) } catch (e) { console.log(e.name, e.message) }
console.log('x'.repeat(1 << 18).length, JSON.stringify({ a: 'y'.repeat(1000) }).length)
console.log('z'.repeat(1 << 17))
