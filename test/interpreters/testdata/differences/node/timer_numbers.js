// The timers have other numbers, by the streams that were made.
console.log(Number(setTimeout(() => {}, 0)))
