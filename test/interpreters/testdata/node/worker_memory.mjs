// Memory and messages between threads.
import { Worker, MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
const shared = new Int32Array(new SharedArrayBuffer(8))
const w = new Worker(`const { workerData: a } = require('worker_threads')
Atomics.store(a, 0, 42); Atomics.notify(a, 0)`, { eval: true, workerData: shared })
console.log(await new Promise(resolve => w.on('exit', resolve)), Atomics.load(shared, 0))
const { port1, port2 } = new MessageChannel()
port1.postMessage({ m: new Map([[1, new Set([2])]]), d: new Date(0), r: /x/g, b: 3n })
console.log(receiveMessageOnPort(port2), receiveMessageOnPort(port2))
