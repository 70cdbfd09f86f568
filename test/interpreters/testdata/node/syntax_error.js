// ends: exit 1
// Nothing of a program that cannot be read is run.
console.log('never')
function f( {
