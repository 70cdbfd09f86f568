const b = require('./b.cjs')
exports.seen = { ...require('./main.cjs') }
exports.b = b
