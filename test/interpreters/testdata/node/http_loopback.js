// A server and its client on the loopback.
const http = require('http')
const s = http.createServer((req, res) => { let b = ''; req.on('data', c => { b += c }).on('end', () => res.writeHead(201, { 'x-a': '1' }).end(req.method + req.url + b)) })
s.listen(0, '127.0.0.1', async () => {
  const port = s.address().port
  const r = await fetch(`http://127.0.0.1:${port}/p`, { method: 'POST', body: 'body' })
  console.log(r.status, r.headers.get('x-a'), await r.text())
  http.get({ port, host: '127.0.0.1', path: '/q', agent: false }, res => { res.resume(); res.on('end', () => { console.log(res.statusCode); s.close(() => console.log('closed')); s.closeAllConnections() }) })
})
