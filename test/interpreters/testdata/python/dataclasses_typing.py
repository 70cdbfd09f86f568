# Classes that are made by looking at their module.
import collections, dataclasses, enum, functools, typing, abc

@dataclasses.dataclass(order=True, frozen=True)
class P:
    x: "int"
    y: typing.ClassVar[int] = 3
    z: list = dataclasses.field(default_factory=list)
class E(enum.IntFlag):
    A = enum.auto(); B = enum.auto()
N = typing.NamedTuple("N", [("a", int)])
T = collections.namedtuple("T", "a b")
print(P(1), P.__module__, typing.get_type_hints(P), E.A | E.B, repr(E.A), N(1), N.__module__, T.__module__, T(1, 2))
print(functools.partial(int, base=2)("11"), abc.get_cache_token() >= 0)
print(P.__hash__ is not None, dataclasses.asdict(P(2)), pow.__module__, P.__qualname__, E.__module__)
