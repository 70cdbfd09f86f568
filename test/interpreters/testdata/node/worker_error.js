// Errors of workers come to the program.
const { Worker, SHARE_ENV } = require('worker_threads')
const w = new Worker('process.env.SHARED = "yes"; console.log("in", process.argv.length); function f () { throw new TypeError("in the worker") }; f()', { eval: true, env: SHARE_ENV })
w.on('error', e => console.log(e.name, e.message, e instanceof TypeError, e.stack)).on('exit', c => console.log('exit', c, process.env.SHARED))
