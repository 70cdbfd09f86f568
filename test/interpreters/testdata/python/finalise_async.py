# Asynchronous generators are closed with their loop.
import asyncio

async def numbers():
    try:
        for n in range(10):
            yield n
    finally:
        print("closed")
async def main():
    async for n in numbers():
        if n == 2:
            break
    print("left", n)
asyncio.run(main())
print("end")
