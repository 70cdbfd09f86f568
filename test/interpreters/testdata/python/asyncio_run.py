# Tasks, their order and their errors.
import asyncio

async def f(n, log):
    log.append(n)
    await asyncio.sleep(0)
    log.append(-n)
    return n
async def main():
    log = []
    print(await asyncio.gather(*(f(n, log) for n in (1, 2, 3))), log)
    r = await asyncio.gather(f(4, log), asyncio.wait_for(asyncio.Event().wait(), 0.001), return_exceptions=True)
    print([type(x).__name__ for x in r])
    async with asyncio.TaskGroup() as g:
        t = g.create_task(f(5, log))
    print(t.result(), asyncio.current_task().get_name(), type(asyncio.get_running_loop()).__name__)
    print(type(asyncio.get_event_loop_policy()).__name__, asyncio.get_running_loop().get_debug())
asyncio.run(main())
