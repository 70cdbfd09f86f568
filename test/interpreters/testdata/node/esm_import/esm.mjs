console.log('esm runs', import.meta.url)
export let x = 1
export default class C {}
