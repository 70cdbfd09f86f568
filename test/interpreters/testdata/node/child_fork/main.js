// A child that talks.
const c = require('child_process').fork(__dirname + '/child.js', ['x'], { execArgv: ['--no-warnings'] })
c.on('message', m => { console.log('parent', m); if (m.n < 3) c.send(m.n); else c.disconnect() })
c.on('exit', (code, s) => console.log('exit', code, s))
