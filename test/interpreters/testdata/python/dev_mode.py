# ends: exit 0
# The development mode of the environment.
import sys, asyncio, faulthandler
print(sys.flags.dev_mode, sys.warnoptions, faulthandler.is_enabled())
open(__file__)
async def main(): print(asyncio.get_running_loop().get_debug())
asyncio.run(main())
