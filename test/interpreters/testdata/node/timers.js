// Timers, their numbers and what they keep alive.
const t = setTimeout(() => {}, 100000)
console.log(t.hasRef(), t.refresh() === t, t._idleTimeout, process.getActiveResourcesInfo().filter(n => n === 'Timeout').length)
t.unref()
let n = 0
const i = setInterval(() => {
  console.log('interval', ++n)
  if (n < 3) return
  clearInterval(i)
  setTimeout((a, b) => console.log('arguments', a, b), 1, 1, 2)
  require('timers/promises').setTimeout(20, 'value').then(console.log)
}, 1)
