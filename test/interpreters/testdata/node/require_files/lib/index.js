global.loads = (global.loads ?? 0) + 1
module.exports = { n: global.loads, parent: module.parent.filename, main: require.main.filename, paths: module.paths }
