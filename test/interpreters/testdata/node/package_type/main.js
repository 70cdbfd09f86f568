// A package beside the program makes it a module.
import { x } from './other.js'
console.log(typeof require, import.meta.url, x)
