// ends: SIGABRT
console.log('before')
process.abort()
