# A name that is given twice.
import os
print(os.environ["TWICE"], [k for k in os.environ if k in ("TWICE", "OUTPUT_DIR")], os.environ["OUTPUT_DIR"])
print(os.popen("env | grep -c ^TWICE=").read())
