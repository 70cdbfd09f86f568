# The input can be waited for.
import os, select, sys

p = select.poll()
p.register(0, select.POLLIN)
data = b""
while True:
    p.poll()
    chunk = os.read(0, 3)
    if not chunk:
        break
    data += chunk
print(data)
