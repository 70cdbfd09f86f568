// The three streams as they are made.
const tty = require('tty')
for (const [n, s] of [process.stdin, process.stdout, process.stderr].entries()) {
  console.log(n, s.constructor.name, s.fd, !!s.isTTY, tty.isatty(n), s.readable, s.writable, s.readableHighWaterMark, s.writableHighWaterMark, s._type, s.eventNames())
}
console.log(process.stdout._handle?.constructor.name, process.stdout._isStdio, process.stdout.columns, process.stdout.hasColors?.())
