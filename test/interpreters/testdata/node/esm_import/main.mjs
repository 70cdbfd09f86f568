// Modules of both kinds, JSON, and what cannot be found.
import whole, { named } from './cjs.cjs'
import * as esm from './esm.mjs'
import data from './data.json' with { type: 'json' }
console.log(whole, named, esm, data)
console.log(await import('./esm.mjs') === esm, (await import('data:text/javascript,export default 5')).default)
for (const name of ['./nowhere.mjs', 'no-such-package', './broken.mjs', 'node:nothing']) {
  await import(name).catch(e => console.log(e.name, e.code, e.message.split('\n')[0]))
}
