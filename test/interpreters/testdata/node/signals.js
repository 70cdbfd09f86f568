// ends: exit 5
// Signals as events, and what the kernel says of them.
const fs = require('fs')
console.log(fs.readFileSync('/proc/self/status', 'utf8').split('\n').filter(l => /^Sig(Blk|Ign|Cgt)|^ShdPnd/.test(l)))
const seen = []
for (const s of ['SIGUSR2', 'SIGHUP', 'SIGTERM', 'SIGINT', 'SIGWINCH']) process.on(s, (name, number) => seen.push([name, number]))
for (const s of ['SIGUSR2', 'SIGHUP', 'SIGTERM', 'SIGINT', 'SIGWINCH']) process.kill(process.pid, s)
const timer = setInterval(() => {
  if (seen.length < 5) return
  clearInterval(timer)
  console.log(seen.sort())
  process.exit(5)
}, 1)
