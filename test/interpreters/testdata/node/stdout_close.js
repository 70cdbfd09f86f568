// ends: exit 0
// The program's output can be ended.
process.stdout.end('last\n', () => console.error('ended', process.stdout.writableEnded))
process.stdout.on('error', e => console.error(e.code))
process.on('exit', c => console.error('exit', c))
