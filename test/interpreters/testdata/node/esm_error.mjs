// ends: exit 1
// An error after an await.
async function f () { await null; throw new Error('after an await') }
await f()
