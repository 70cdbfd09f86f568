# None is that of the machine.
import os, time
print(os.environ.get("TZ"), time.tzname, time.localtime(1720000000) == time.gmtime(1720000000), time.daylight)
