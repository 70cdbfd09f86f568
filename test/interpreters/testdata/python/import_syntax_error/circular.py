from circular import x
x = 1
