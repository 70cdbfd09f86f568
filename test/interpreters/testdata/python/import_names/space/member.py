member = 1
