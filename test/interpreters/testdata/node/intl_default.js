// The zone and the language of none.
console.log(process.env.TZ, new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone, Intl.NumberFormat().resolvedOptions().locale)
