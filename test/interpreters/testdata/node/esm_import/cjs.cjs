exports.named = 1
exports.main = require.main
exports.cache = Object.keys(require.cache)
