# A server and its client on the loopback, and threads that a loop waits for.
import asyncio, time

async def serve(r, w):
    w.write((await r.readline()).upper()); await w.drain(); w.close()
async def main():
    s = await asyncio.start_server(serve, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b"hello\n")
    print(await r.read())
    w.close()
    print(await asyncio.to_thread(pow, 2, 10))
    s.close()
asyncio.run(main())
