print("package", __path__, __package__)
__all__ = ["Y"]
Y = 2
