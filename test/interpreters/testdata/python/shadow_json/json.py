X = "own"
