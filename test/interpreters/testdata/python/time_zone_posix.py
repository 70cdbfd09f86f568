# One that is a rule, not a name.
import time
print(time.tzname, time.timezone, time.altzone, time.localtime(1720000000).tm_isdst, time.ctime(1720000000))
