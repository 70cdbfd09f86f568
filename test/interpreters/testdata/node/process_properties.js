// What process has.
console.log(Object.getOwnPropertyNames(process).sort().join(' '))
console.log(process.release.name, process.platform, process.arch, process.pid, process.ppid, process.exitCode, process.connected, process.debugPort)
console.log(process.features, process.allowedNodeEnvironmentFlags.size, process.report.directory, process.sourceMapsEnabled)
console.log(process.eventNames(), process.listenerCount('SIGINT'), process.getMaxListeners(), process.domain)
