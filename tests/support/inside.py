"""Private state that the tests use, listed in one place.

``inside(run).tables`` is ``run._tables``. A test that checks a kernel, or the state between two
iterations, needs more than the public names; these are all the names it may use. If one of them
changes in the package, it changes here; a test in test_repository.py enforces it.
"""

from typing import Any

PRIVATE = {
    "solvers": {
        "average", "best", "current", "form", "iterate", "labels", "layout", "progress", "row",
        "settings", "sizes", "total", "tree", "walk", "warm_up",
    },
    "solvers that sample": {
        "apply_batch", "baseline", "cache", "expand", "find", "lanes", "make_room", "play_out",
        "run_id", "set_target", "tables", "target", "workspace",
    },
    "solvers with networks": {
        "actions", "current_networks", "features", "learners", "legal", "match", "memories",
        "mixture", "network", "networks", "row_features", "scale", "states", "strategies",
        "table", "train",
    },
    "trees and strategies": {"arrays", "history", "nodes", "numbers", "sequences"},
    "Koi-Koi": {
        "cards", "compress", "deal_name", "decompress", "ever_visited", "likelihood", "play",
        "prior", "remark", "resample", "round", "seat", "simulator", "visited",
    },
}  # fmt: skip
NAMES = set().union(*PRIVATE.values())


class Inside:
    """An object whose attributes are private attributes of another one."""

    def __init__(self, owner: object):
        object.__setattr__(self, "owner", owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.owner, _private(name))

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.owner, _private(name), value)

    def __delattr__(self, name: str) -> None:
        delattr(self.owner, _private(name))


def inside(owner: object) -> Any:
    """Return access to the private attributes of an object or module.

    Raises
    ------
    AttributeError
        If a name is not listed in `PRIVATE`.
    """
    return Inside(owner)


def _private(name: str) -> str:
    if name not in NAMES:
        raise AttributeError(f"{name!r} is not listed in tests/support/inside.py")
    return f"_{name}"
