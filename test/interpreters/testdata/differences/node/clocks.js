// The runtime's clocks count from its start, which was before there was a program.
const written = require('fs').statSync(__filename).mtimeMs
console.log(performance.timeOrigin < written - 50, Date.now() - process.uptime() * 1000 < written - 50)
