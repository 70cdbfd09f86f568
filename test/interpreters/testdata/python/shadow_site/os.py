raise RuntimeError("too late")
