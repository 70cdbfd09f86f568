exports.a = { ...require('./a.cjs') }
