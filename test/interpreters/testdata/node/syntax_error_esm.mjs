// ends: exit 1
console.log('never')
import { nothing } from 'node:fs'
console.log(nothing)
