// How values look.
const util = require('util')
class A { #p = 1; constructor () { this.self = this; this.d = new Date(0) } get g () { return 1 } }
console.log(new A(), [1, , 3, ...Array(120).keys()], new Map([[{ a: 1 }, new Set(['x'])]]), Symbol('s'), -0, 10n, null, undefined)
console.log(util.inspect({ a: { b: { c: { d: 1 } } }, f () {}, g: class {}, p: Promise.resolve(4), w: new WeakMap(), b: Buffer.from('ab'), e: new RangeError('e').message }, { depth: 4, showHidden: true, compact: false, colors: true }))
console.log('%s %d %i %j %o %%', 'a', 1.5, 2.7, { x: 1 }, [1], 'more')
console.table([{ a: 1, b: 'x' }, { a: 2 }])
console.group('group'); console.log('in\nlines'); console.groupEnd(); console.dir(new Proxy({}, {}), { showProxy: true })
console.assert(true); console.count(); console.count(); console.log(util.format(process), Object.keys(console).length)
