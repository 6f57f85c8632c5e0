"""A small part of NumPy in plain Python, for pages whose Python has no NumPy.

An array is a list of numbers, or a list of arrays. It has what the book's programs and checks
use. What is missing says so; a row is a view, as in NumPy, but another slice is a copy.
"""

import bisect
import math
import operator
from itertools import accumulate, pairwise
from math import e as e
from math import inf, nan
from math import pi as pi

_sum, _all, _any, _abs, _round, _max, _min = (
    sum,
    all,
    any,
    abs,
    round,
    max,
    min,
)


class generic:
    """What NumPy's numbers have in common; here, numbers are Python's."""


class _Operators:
    """Arithmetic that goes number by number, also with a list."""

    __hash__ = None
    __neg__ = lambda x: _map(lambda a: -a, x)
    __invert__ = lambda x: _map(lambda a: not a if isinstance(a, bool) else ~a, x)
    __abs__ = lambda x: _map(_abs, x)


class ndarray(_Operators):
    """An array: numbers, or arrays of one shape."""

    def __init__(self, items):
        self.v = items

    shape = property(lambda x: (len(x.v), *(x.v[0].shape if x.v and _nested(x) else ())))
    ndim = property(lambda x: len(x.shape))
    size = property(lambda x: math.prod(x.shape))
    dtype = property(lambda x: type(x.ravel().v[0]) if x.size else float)
    T = property(lambda x: ndarray([*map(_row, zip(*x.v, strict=True))]) if _nested(x) else x)

    def __len__(self):
        return len(self.v)

    def __iter__(self):
        return iter(self.v)

    def __bool__(self):
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def _rows(self, key):
        """Return the indices of the rows that a slice, a mask or a list of indices means."""
        if isinstance(key, slice):
            return range(len(self.v))[key]
        key = array(key)
        if key.dtype is bool and len(key):
            if len(key) != len(self.v):
                raise IndexError("the mask and the array have different lengths")
            return [n for n, chosen in enumerate(key.v) if chosen]
        return key.v

    def __getitem__(self, key):
        first, *rest = key if isinstance(key, tuple) else (key,)
        rest = tuple(rest)
        if first is None:
            return ndarray([self[rest] if rest else self])
        if first is ...:
            raise _missing("an index with `...`")
        if not isinstance(first, (slice, list, ndarray)):
            return _at(self.v[first], rest)
        if _nested(first):
            return (
                self.ravel()[first.ravel()]
                if first.dtype is bool
                else _map(lambda n: self[n], first)
            )
        rows = self._rows(first)
        if rest and not isinstance(first, slice) and isinstance(rest[0], (list, ndarray)):
            return ndarray([self.v[i].v[j] for i, j in zip(rows, rest[0], strict=True)])
        return ndarray([_at(self.v[n], rest) for n in rows])

    def __setitem__(self, key, value):
        first, *rest = key if isinstance(key, tuple) else (key,)
        value = array(value) if isinstance(value, (list, tuple)) else value
        if not isinstance(first, (slice, list, ndarray)):
            old = self.v[first]
            if rest or isinstance(old, ndarray):
                old[tuple(rest) or slice(None)] = value
            else:
                self.v[first] = type(old)(value)
            return
        rows = self._rows(first)
        if rest and not isinstance(first, slice) and isinstance(rest[0], (list, ndarray)):
            places = [(i, j) for i, j in zip(rows, rest[0], strict=True)]
            several = ndim(value)
        else:
            places = [(n, *rest) for n in rows]
            several = ndim(value) == self.ndim - _sum(isinstance(x, int) for x in rest)
        if several and len(value) not in (1, len(places)):
            raise ValueError(f"could not broadcast {len(value)} values into {len(places)}")
        for n, place in enumerate(places):
            self[place] = value.v[n if len(value) > 1 else 0] if several else value

    def __repr__(self):
        return f"array({self.tolist()})"

    def tolist(self):
        return [x.tolist() if isinstance(x, ndarray) else x for x in self.v]

    def ravel(self):
        return ndarray([x for row in self.v for x in row.ravel().v]) if _nested(self) else self

    flatten = lambda x: x.ravel().copy()
    copy = lambda x: _map(lambda a: a, x)
    astype = lambda x, kind, **_: _map(kind, x)
    round = lambda x, digits=0: _map(lambda a: float(_round(a, digits)), x)
    clip = lambda x, low, high: minimum(maximum(x, low), high)
    setflags = lambda x, **_: None

    def item(self, *place):
        if not place and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self[place] if place else self.ravel().v[0]

    def __matmul__(self, other):
        a, b = self, array(other)
        if _nested(a):
            return ndarray([row @ b for row in a.v])
        if len(a) != len(b):
            raise ValueError(f"matmul: {len(a)} numbers against {len(b)}")
        if _nested(b):
            return ndarray([a @ column for column in b.T.v])
        return float64(_sum(map(lambda x, y: x * y, a.v, b.v)))

    def __rmatmul__(self, other):
        return array(other) @ self


class float64(float, _Operators):
    """A number that an array was reduced to; a list and it make an array."""

    __hash__ = float.__hash__
    __neg__, __abs__ = float.__neg__, float.__abs__
    ndim, shape, size = 0, (), 1
    item = float.__float__
    round = float.__round__


def _nested(x):
    return isinstance(x, ndarray) and bool(x.v) and isinstance(x.v[0], ndarray)


def _row(numbers):
    return ndarray([*numbers])


def _at(x, rest):
    if not rest:
        return x
    return x[rest] if isinstance(x, ndarray) else ndarray([x])  # row[:, None]


def _map(f, x):
    if isinstance(x, (list, tuple)):
        x = array(x)
    return ndarray([_map(f, a) for a in x.v]) if isinstance(x, ndarray) else f(x)


def _pair(f, a, b):
    """Apply a function of two numbers to arrays that are broadcast."""
    more, other = ndim(a), ndim(b)
    if not more and not other:
        return f(a, b)
    if more != other:
        return ndarray(
            [_pair(f, x, b) for x in a.v] if more > other else [_pair(f, a, y) for y in b.v]
        )
    if len(a.v) != len(b.v) and 1 not in (len(a.v), len(b.v)):
        raise ValueError(
            f"operands could not be broadcast together with shapes {a.shape} {b.shape}"
        )
    length = _max(len(a.v), len(b.v)) if a.v and b.v else 0
    left, right = (x.v if len(x.v) == length else x.v * length for x in (a, b))
    return ndarray([_pair(f, x, y) for x, y in zip(left, right, strict=True)])


def _divide(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return math.copysign(inf, a) if a else nan


def _operator(f):
    def method(self, other):
        other = array(other) if isinstance(other, (list, tuple)) else other
        if not isinstance(other, (ndarray, int, float)):
            return NotImplemented
        bare = (float(x) if isinstance(x, float64) else x for x in (self, other))
        found = _pair(f, *bare)
        return float64(found) if type(found) is float else found

    return method


def _in_place(f):
    def method(self, other):
        found = _pair(f, self, array(other))
        if self.dtype is int and found.dtype is float:
            raise TypeError("Cannot cast floats to integers in place: make the array float")
        self[:] = found
        return self

    return method


_TWO = {"truediv": _divide, "and": operator.and_, "or": operator.or_}
for _name in (
    "add",
    "sub",
    "mul",
    "pow",
    "mod",
    "floordiv",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
):
    _TWO[_name] = getattr(operator, _name)
for _name, _f in _TWO.items():
    for _kind in (ndarray, float64):
        setattr(_kind, f"__{_name}__", _operator(_f))
        setattr(_kind, f"__r{_name}__", _operator(lambda a, b, f=_f: f(b, a)))
    setattr(ndarray, f"__i{_name}__", _in_place(_f))


def _reduction(f):
    """Return a method that reduces an array, or one axis of it, to a number."""

    def method(x, axis=None, keepdims=False, initial=None, **_):
        if axis is None or (not _nested(x) and axis in (0, -1)):
            x = array(x)
            numbers = x.ravel().v if isinstance(x, ndarray) else [x]
            found = f(numbers if initial is None else [initial, *numbers])
            found = float64(found) if type(found) is float else found
            return ndarray([found]) if keepdims else found
        if axis in (0, -len(x.shape)):
            found = ndarray([method(column) for column in x.T.v])
            return ndarray([found]) if keepdims else found
        return ndarray([method(row, axis - (axis > 0), keepdims) for row in x.v])

    return method


for _name, _f in {
    "sum": _sum,
    "prod": math.prod,
    "max": _max,
    "min": _min,
    "all": lambda v: _all(v),
    "any": lambda v: _any(v),
    "mean": lambda v: _sum(v) / len(v),
    "argmax": lambda v: v.index(_max(v)),
    "argmin": lambda v: v.index(_min(v)),
    "ptp": lambda v: _max(v) - _min(v),
    "median": lambda v: (sorted(v)[len(v) // 2] + sorted(v)[(len(v) - 1) // 2]) / 2,
    "count_nonzero": lambda v: _sum(map(bool, v)),
}.items():
    globals()[_name] = _reduction(_f)
    setattr(ndarray, _name, globals()[_name])
ndarray.cumsum = lambda x, dtype=None: ndarray(list(accumulate(x.ravel().v)))

# ---- functions -------------------------------------------------------------------------------

bool_, integer, floating, newaxis, double = bool, int, float, None, float
int8 = int16 = int32 = int64 = uint8 = uint16 = uint32 = uint64 = intp = int
float16 = float32 = float
True_, False_ = True, False
dtype = lambda *_, **__: object  # of records, which only kernels read


def array(x, dtype=None, copy=True, **_):
    if isinstance(x, ndarray):
        return _map(dtype or (lambda a: a), x)
    if isinstance(x, (list, tuple, range)):
        rows = [
            array(a, dtype) if isinstance(a, (list, tuple, range, ndarray)) else a for a in x
        ]
        if rows and isinstance(rows[0], ndarray):
            if len({row.shape if isinstance(row, ndarray) else () for row in rows}) > 1:
                raise ValueError("the rows of this array have different lengths")
            return ndarray(rows)
        kind = dtype or (
            float if float in map(type, rows) or float64 in map(type, rows) else None
        )
        return ndarray([*map(kind, rows)] if kind else rows)
    if isinstance(x, (int, float)) and dtype is None:
        return x
    return float64(x)


asarray = ascontiguousarray = array


def ndim(x):
    if isinstance(x, (list, tuple)):
        x = array(x)
    return 1 + (_nested(x) and ndim(x.v[0])) if isinstance(x, ndarray) else 0


def full(shape, value, dtype=None):
    length, *rest = shape if isinstance(shape, (tuple, list)) else (shape,)
    cell = (dtype or type(value))(value)
    return ndarray([full(rest, cell) if rest else cell for _ in range(int(length))])


zeros = lambda shape, dtype=float: full(shape, 0, dtype)
ones = lambda shape, dtype=float: full(shape, 1, dtype)
empty = zeros
zeros_like = lambda x, dtype=None: _map(lambda a: (dtype or type(a))(0), x)
ones_like = lambda x, dtype=None: _map(lambda a: (dtype or type(a))(1), x)


def arange(*limits, dtype=None):
    if _all(isinstance(x, int) for x in limits):
        return ndarray([*map(dtype or int, range(*limits))])
    start, stop, step = (*limits, 1)[:3] if len(limits) > 1 else (0, *limits, 1)
    return ndarray([start + n * step for n in range(math.ceil((stop - start) / step))])


def _elementwise(f):
    return lambda x, *_, **__: _map(f, x)


abs = absolute = _elementwise(_abs)
sqrt, tanh, isfinite, isnan = map(
    _elementwise, (math.sqrt, math.tanh, math.isfinite, math.isnan)
)
exp = _elementwise(lambda a: math.exp(a) if a < 709 else inf)
log = _elementwise(lambda a: math.log(a) if a > 0 else -inf if a == 0 else nan)
log10 = _elementwise(lambda a: math.log10(a) if a > 0 else -inf if a == 0 else nan)
sign = _elementwise(lambda a: type(a)((a > 0) - (a < 0)))
_lists = lambda *xs: [array(x) if isinstance(x, (list, tuple)) else x for x in xs]
maximum = lambda a, b: _pair(lambda x, y: x if x >= y or x != x else y, *_lists(a, b))
minimum = lambda a, b: _pair(lambda x, y: x if x <= y or x != x else y, *_lists(a, b))
isclose = lambda a, b, rtol=1e-5, atol=1e-8: _pair(
    lambda x, y: x == y or _abs(x - y) <= atol + rtol * _abs(y) < inf,
    *_lists(a, b),
)
allclose = lambda a, b, rtol=1e-5, atol=1e-8: bool(all(isclose(a, b, rtol, atol)))
ldexp = lambda a, b: _pair(math.ldexp, *_lists(a, b))
clip = lambda x, low, high: array(x).clip(low, high)
round = lambda x, digits=0: array(x).round(digits)
dot = lambda a, b: array(a) @ b
outer = lambda a, b: ndarray([x * array(b) for x in array(a).v])
cumsum = lambda x, dtype=None: array(x).cumsum()
iscomplexobj = lambda x: isinstance(x, complex)
stack = lambda xs: ndarray([array(x) for x in xs])
concatenate = lambda xs, axis=0: ndarray([a for x in xs for a in array(x).v])
flatnonzero = lambda x: ndarray([n for n, a in enumerate(array(x).ravel().v) if a])
argsort = lambda x, **_: ndarray(sorted(range(len(x)), key=list(x).__getitem__))


def where(condition, a, b):
    condition, a, b = _lists(condition, a, b)
    halves = _pair(lambda chosen, x: lambda y: x if chosen else y, condition, a)
    return _pair(lambda half, y: half(y), halves, b)


def diff(x, append=None):
    return ndarray([b - a for a, b in pairwise([*x, *([] if append is None else [append])])])


def delete(x, n, axis=0):
    x = array(x)
    if axis:
        return ndarray([delete(row, n, axis - 1) for row in x.v])
    return ndarray([a for k, a in enumerate(x.v) if k != n % len(x)])


def unique(x, axis=None, return_index=False, return_inverse=False):
    keys = [tuple(a.v) if isinstance(a, ndarray) else a for a in array(x).v]
    found = sorted(set(keys))
    at = {key: n for n, key in enumerate(found)}
    more = [ndarray([keys.index(key) for key in found])] if return_index else []
    more += [ndarray([at[key] for key in keys])] if return_inverse else []
    values = array([list(key) if isinstance(key, tuple) else key for key in found])
    return (values, *more) if more else values


def bincount(x, weights=None, minlength=0):
    counts = full(_max([minlength, *(n + 1 for n in x)]), 0 if weights is None else 0.0)
    for n, k in enumerate(x):
        counts.v[k] += 1 if weights is None else weights.v[n]
    return counts


def searchsorted(x, values, side="left"):
    place = bisect.bisect_left if side == "left" else bisect.bisect_right
    return _map(lambda a: place(list(x), a), values)


class add:
    reduceat = lambda x, starts: ndarray(
        [_sum(array(x).v[a:b]) for a, b in pairwise([*starts, len(x)])]
    )


def _missing(name):
    return AttributeError(
        f"this page has only a small part of NumPy, without {name}: write it in plain Python, "
        "or use the notebook"
    )


def __getattr__(name):
    raise _missing(name)


from numpy import random as random  # noqa: E402
