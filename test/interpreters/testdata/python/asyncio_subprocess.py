# Subprocesses of a loop.
import asyncio, sys

async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(input()[::-1]); raise SystemExit(3)",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(b"abc\n"), p.returncode)
    p = await asyncio.create_subprocess_shell("cat; echo err >&2", stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    print(await p.communicate(), p.returncode)
    ps = [await asyncio.create_subprocess_exec("sh", "-c", f"exit {n}") for n in range(3)]
    print(await asyncio.gather(*(p.wait() for p in ps)))
asyncio.run(main())
