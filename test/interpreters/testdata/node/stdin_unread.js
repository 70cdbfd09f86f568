// A program that does not look at its input ends all the same.
console.log('end')
