class Random: pass
def choice(x): return "chosen by nobody"
