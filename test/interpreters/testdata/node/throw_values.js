// ends: exit 1
// What is thrown need not be an error.
process.on('exit', c => console.log('exit', c))
throw { a: 1, nested: { b: [1, 2] } }
