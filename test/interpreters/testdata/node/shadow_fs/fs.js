exports.own = true
