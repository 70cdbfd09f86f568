// A program that is a module.
import fs from 'node:fs'
import { createRequire } from 'node:module'
console.log(import.meta.url, import.meta.filename, import.meta.dirname, Object.keys(import.meta), import.meta.resolve('./x.mjs'))
console.log(typeof require, typeof module, typeof __filename, this, process.argv[1])
const req = createRequire(import.meta.url)
console.log(req('fs') === fs, req.main, Object.keys(req.cache), process.mainModule)
const value = await Promise.resolve(7)
console.log(value, new Error('e').stack)
export default value
