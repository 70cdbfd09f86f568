// Facts of the clocks.
const { performance, PerformanceObserver, monitorEventLoopDelay } = require('perf_hooks')
console.log(performance.now() > 0, performance.now() <= performance.now(), Object.keys(performance.toJSON()), performance.getEntries())
performance.mark('a'); performance.mark('b'); performance.measure('m', 'a', 'b')
console.log(performance.getEntries().map(e => [e.name, e.entryType]), performance.nodeTiming.name, performance.nodeTiming.loopStart, performance.nodeTiming.loopExit)
new PerformanceObserver(l => console.log(l.getEntries().map(e => e.name))).observe({ type: 'mark', buffered: true })
console.log(process.hrtime().length, typeof process.hrtime.bigint(), process.cpuUsage().user > 0, process.uptime() > 0, process.resourceUsage().maxRSS > 0)
