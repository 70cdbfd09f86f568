// The streams are made already.
console.log(process._getActiveHandles().length)
