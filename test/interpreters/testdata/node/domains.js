// Domains catch what their callbacks throw.
const d = require('domain').create()
d.on('error', e => console.log('domain', e.message, e.domain === d, e.domainThrown))
d.run(() => setTimeout(() => { console.log(process.domain === d); throw new Error('in a timer') }))
d.run(() => Promise.reject(new Error('rejected')).catch(e => console.log(e.message)))
console.log(process.domain)
