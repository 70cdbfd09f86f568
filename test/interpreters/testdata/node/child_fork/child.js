console.log('child', process.argv, process.execArgv, process.connected, require.main === module, process._preload_modules)
process.send({ n: 1, big: [1, 2] })
process.on('message', n => process.send({ n: n + 1 }))
process.on('disconnect', () => { process.exitCode = 4 })
