// WebAssembly, compiled and run.
const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11)
const { instance, module } = await WebAssembly.instantiate(bytes)
console.log(instance.exports.add(40, 2), WebAssembly.Module.exports(module), WebAssembly.validate(bytes.slice(0, 9)))
await WebAssembly.compile(bytes.slice(0, 20)).catch(e => console.log(e.name, e.message))
const m = new WebAssembly.Memory({ initial: 1, maximum: 2 })
console.log(m.buffer.byteLength, m.grow(1), m.buffer.byteLength)
