// ends: SIGINT
console.log('before')
process.kill(process.pid, 'SIGINT')
setTimeout(() => {}, 30000)
