// ends: exit 13
// A promise that never settles has an exit code of its own.
process.on('exit', c => console.log('exit', c))
await new Promise(() => {})
