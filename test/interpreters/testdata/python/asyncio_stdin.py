# The program's own input as a stream of the loop.
import asyncio, sys

async def main():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(line)
asyncio.run(main())
