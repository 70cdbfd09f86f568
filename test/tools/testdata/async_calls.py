"""A server and its clients in one event loop, with a slow answer that is given up."""
import asyncio
import hashlib


async def answer(reader, writer):
    word = (await reader.readline()).decode().strip()
    if word == "slow":
        await asyncio.sleep(3600)
    writer.write((hashlib.md5(word.encode()).hexdigest() + "\n").encode())
    await writer.drain()
    writer.close()


async def ask(port, word, limit):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((word + "\n").encode())
    try:
        return (await asyncio.wait_for(reader.readline(), limit)).decode().strip()
    except asyncio.TimeoutError:
        return "given up"
    finally:
        writer.close()


async def async_calls(words):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    answers = await asyncio.gather(*(ask(port, w, 60) for w in words), ask(port, "slow", 0.2))
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate(b"through a child")
    server.close()
    return {"answers": answers, "child": out.decode()}
