// Dates, numbers and words, in the zone and the language of the environment.
const d = new Date(1720000000000)
console.log(d.toString(), d.getTimezoneOffset(), d.toLocaleString(), Intl.DateTimeFormat().resolvedOptions())
console.log((1234567.891).toLocaleString(), new Intl.NumberFormat('de', { style: 'currency', currency: 'EUR' }).format(5), ['é', 'z', 'a'].sort(new Intl.Collator('fr').compare))
process.env.TZ = 'Asia/Kolkata'
console.log(d.toString(), new Date(2020, 0, 1).toISOString())
