// The input by events.
const chunks = []
process.stdin.setEncoding('utf8')
process.stdin.on('data', c => chunks.push(c)).on('end', () => console.log('end', JSON.stringify(chunks.join('')))).on('close', () => console.log('close'))
console.log(process.stdin.readableFlowing, process.stdin.readableEncoding)
