// ends: exit 1
// The text of an error, with its cause and its own properties.
class Own extends Error {
  constructor (m, o) { super(m, o); this.name = 'Own'; this.code = 'E_OWN' }
}
function a () { throw new Own('deep', { cause: new TypeError('cause') }) }
function b () { a() }
b()
