# The time zone of the environment.
import datetime, os, time, zoneinfo

print(time.tzname, time.timezone, time.daylight, time.localtime(0)[:6], time.strftime("%Z %z", time.localtime(1700000000)))
print(datetime.datetime.fromtimestamp(1720000000).astimezone().isoformat(), zoneinfo.TZPATH)
os.environ["TZ"] = "Asia/Kolkata"
print(time.localtime(0)[:6])
time.tzset()
print(time.tzname, time.localtime(0)[:6])
