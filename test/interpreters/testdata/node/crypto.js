// Hashes, keys, random bytes.
const c = require('crypto')
console.log(c.createHash('sha256').update('a').digest('hex'), c.createHmac('md5', 'k').update('d').digest('base64'))
const key = c.scryptSync('p', 's', 32, { N: 2 })
const e = c.createCipheriv('aes-256-gcm', key, Buffer.alloc(12))
console.log(e.update('text', 'utf8', 'hex') + e.final('hex'), e.getAuthTag().length)
console.log(c.randomBytes(16).equals(c.randomBytes(16)), c.randomUUID() === c.randomUUID(), Math.random() === Math.random(), c.getFips(), c.getCiphers().length > 50)
c.subtle.digest('SHA-1', Buffer.from('a')).then(d => console.log(Buffer.from(d).toString('hex')))
