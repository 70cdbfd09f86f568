// Bytes and their encodings.
const b = Buffer.from('é€😀')
console.log(b, b.toString('hex'), b.toString('base64url'), b.toString('latin1'), Buffer.byteLength('é'), Buffer.poolSize, b.offset)
console.log(Buffer.allocUnsafe(8).byteOffset, Buffer.from('a').byteOffset, Buffer.alloc(3).fill('ab'), Buffer.concat([b, b]).length)
console.log(new TextDecoder('utf-16le').decode(Buffer.from('a', 'utf16le')), structuredClone({ d: new Date(0) }), require('buffer').constants.MAX_LENGTH, new Blob(['x']).size, btoa('a'))
try { b.readUInt32LE(20) } catch (e) { console.log(e.code, e.message) }
