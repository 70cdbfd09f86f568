// Compression and pipelines of streams.
const zlib = require('zlib')
const { pipeline, Readable, Transform, PassThrough } = require('stream')
console.log(zlib.gunzipSync(zlib.gzipSync('text')).toString(), zlib.brotliDecompressSync(zlib.brotliCompressSync('b')).toString(), zlib.deflateSync('x'.repeat(1000)).length)
const chunks = []
pipeline(Readable.from(['a', 'b', 'c']), new Transform({ transform (c, e, done) { done(null, c.toString().toUpperCase()) } }), zlib.createGzip(), zlib.createGunzip(), new PassThrough().on('data', c => chunks.push(c)), e => console.log(e, Buffer.concat(chunks).toString()))
pipeline(Readable.from([Buffer.from('no gzip')]), zlib.createGunzip(), new PassThrough(), e => console.log(e.code))
