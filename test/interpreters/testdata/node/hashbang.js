#!/usr/bin/env -S node --no-such-option
// The first line is for a shell.
console.log('ran', new Error().stack.split('\n')[1])
