// A name that is given twice.
console.log(process.env.TWICE, Object.keys(process.env).filter(k => k === 'TWICE').length, process.env.OUTPUT_DIR)
console.log(require('child_process').execSync('env | grep -c ^TWICE=').toString())
