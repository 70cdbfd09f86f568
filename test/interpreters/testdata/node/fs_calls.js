// Files, synchronous and not.
const fs = require('fs')
fs.writeFileSync('left', 'é\n')
fs.appendFileSync('left', 'more')
fs.mkdirSync('a/b', { recursive: true, mode: 0o700 })
console.log(fs.readdirSync('.'), fs.statSync('left').size, fs.existsSync('nowhere'), fs.realpathSync('.'))
for (const dir of ['/', '/code', '/etc', '/tmp', '/dev/shm']) {
  try { fs.writeFileSync(dir + '/probe', ''); fs.unlinkSync(dir + '/probe'); console.log(dir, 'writable') } catch (e) { console.log(dir, e.code, e.message) }
}
fs.promises.readFile('left', 'utf8').then(async s => {
  console.log(s, await fs.promises.stat('nowhere').catch(e => e.message))
  for await (const e of await fs.promises.opendir('a')) console.log(e.name, e.isDirectory())
  fs.createReadStream('left').pipe(fs.createWriteStream('copy')).on('finish', () => console.log(fs.readFileSync('copy', 'utf8')))
})
