// Lines of the input, as they are waited for.
import readline from 'node:readline/promises'
const rl = readline.createInterface({ input: process.stdin })
for await (const line of rl) console.log(JSON.stringify(line))
const closed = await Promise.race([rl.question('more? '), new Promise(resolve => setTimeout(resolve, 1, 'nothing'))]).catch(e => e.code)
console.log(closed)
