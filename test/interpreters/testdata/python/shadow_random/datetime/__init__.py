date = None
