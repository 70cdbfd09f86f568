// Handlers for rejections, and one that comes late.
process.on('unhandledRejection', (e, p) => { console.log('unhandled', e.message, p); p.catch(() => console.log('caught late')) })
process.on('rejectionHandled', p => console.log('handled', p))
process.on('multipleResolves', () => console.log('multiple'))
Promise.reject(new Error('late'))
