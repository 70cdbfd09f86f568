// ends: SIGTERM
console.log('before')
process.kill(process.pid, 'SIGTERM')
setTimeout(() => {}, 30000)
