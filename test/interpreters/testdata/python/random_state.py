# The generator is seeded when its module is imported, with the kernel's bytes.
import random
state = random.getstate()
print(state[0], len(state[1]), state[1][-1], state[2], len(set(state[1])) > 600)
