# ends: exit 1
class E:
    def __str__(self):
        return "an object"
raise SystemExit(E())
