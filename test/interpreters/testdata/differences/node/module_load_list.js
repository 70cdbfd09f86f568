// The modules of streams are loaded.
console.log(process.moduleLoadList.includes('NativeModule net'))
