# ends: exit 0
# What a loop says of errors that nobody asked for.
import asyncio

async def fail():
    raise ValueError("nobody asked")
async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda l, c: print(c["message"], repr(c.get("exception"))))
    t = asyncio.create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del t
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    async def never(): pass
    never()
asyncio.run(main())
