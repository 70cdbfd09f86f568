// There is no network.
fetch('http://192.0.2.1/').catch(e => {
  console.log(e.name, e.message, e.cause.code)
  require('dns').lookup('example.com', e => {
    console.log(e.code)
    require('net').connect(80, '192.0.2.1').on('error', e => console.log(e.code, e.syscall, e.address))
  })
})
