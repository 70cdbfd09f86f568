print("own re")
