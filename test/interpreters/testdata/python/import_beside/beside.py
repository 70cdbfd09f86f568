print("beside", __name__, __file__, __spec__.origin, __cached__)
X = 1
