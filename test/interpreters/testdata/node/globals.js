// The names that a fresh program starts with.
console.log(Object.getOwnPropertyNames(globalThis).join(' '))
console.log(Object.keys(globalThis))
console.log(Object.getOwnPropertySymbols(globalThis).map(String))
console.log(globalThis === global, typeof require, typeof globalThis.require)
