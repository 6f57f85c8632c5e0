"""Files: NumPy npz archives of plain arrays and one JSON header, without pickles.

Everything that cfrlib saves has this form. ``header`` is a JSON string: the ``format`` (a name
and a version), the ``repr`` of the ``game``, a ``fingerprint`` of its rules, the ``infosets``
(player, label and actions of each), the fields of that format, and for each array its dtype,
shape and digest. ``digest`` is that of the header. A vector over sequences lists player 0's
empty sequence, then player 0's pairs (infoset, action) in the order of ``infosets``, then
player 1's empty sequence, and so on.

A file is read back into the arrays that it was written from: a solver is created from the
header, and an array of the file must have the dtype and shape of the solver's own. So no number
is used of a file that `write` has not made, or that was changed since.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.game import GameError, action_label

if sys.platform != "win32":
    import fcntl

PathLike: TypeAlias = str | os.PathLike[str]
Array: TypeAlias = npt.NDArray[Any]
Fields: TypeAlias = dict[str, Any]
MAX_QUOTED = 80  # characters that an error message quotes from a file


class Described(Protocol):
    """The part of a sequence form that a file's header describes."""

    @property
    def tree(self) -> Any:
        """An object with a game, and with those attributes of Tree that describe infosets."""

    def fingerprint(self) -> str:
        """Return a digest of the rules, as far as they are known."""


class Mismatch(ValueError):
    """A complete file that belongs to another game, or to other features."""


# ---- writing ---------------------------------------------------------------------------------


def write(
    path: PathLike, kind: str, form: Described, fields: Fields, arrays: Mapping[str, Array]
) -> None:
    """Write a file; an existing one is replaced only once the new one is complete.

    Parameters
    ----------
    path : str or path
    kind : str
        Name and version of the format, such as ``"cfrlib.CFR 5"``.
    form : SequenceForm, or an object that describes as much of a game as is known
    fields : dict
        Further fields of the header, of types that JSON knows.
    arrays : mapping from str to array
    """
    listed = {name: [a.dtype.str, list(a.shape), _digest(a)] for name, a in arrays.items()}
    header = json.dumps(
        {
            "format": kind,
            "game": repr(form.tree.game),
            "fingerprint": form.fingerprint(),
            **fields,
            "infosets": _infosets(form),
            "arrays": listed,
        }
    )
    sealed = {"header": np.array(header), "digest": np.array(_digest(header.encode()))}
    with replacing(path) as file:
        np.savez(file, **sealed, **arrays)  # type: ignore[arg-type]  # might hold `allow_pickle`


def _infosets(form: Described) -> list[list[Any]]:
    """Return the player, the label and the actions of each infoset."""
    tree = form.tree
    infosets = zip(tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True)
    return [[int(i), label, [action_label(a) for a in A]] for i, label, A in infosets]


def _digest(data: bytes | Array) -> str:
    return hashlib.sha256(data if isinstance(data, bytes) else data.tobytes()).hexdigest()


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once the block is complete.

    Temporary files that killed processes left behind are removed.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give a file, such as run.npz in it")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    _remove_abandoned(target)
    try:
        with _open_locked(temporary) as file:
            yield file
            file.flush()
            if sys.platform != "win32":  # while the lock keeps it from being removed
                temporary.replace(target)
        if sys.platform == "win32":  # an open file cannot be renamed
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _open_locked(temporary: Path) -> BinaryIO:
    """Open a file with a lock, so that no other process removes it as abandoned."""
    while True:
        file = temporary.open("wb")
        if sys.platform == "win32":  # an open file cannot be removed
            return file
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if temporary.exists() and os.path.samestat(os.fstat(file.fileno()), temporary.stat()):
            return file
        file.close()  # another process removed it before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of processes that have ended."""
    pattern = re.compile(re.escape(target.name) + r"\.\d+\.part")
    if not target.parent.is_dir():
        return
    for path in [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]:
        # an error: a running process holds it, or removed it first
        with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
            if sys.platform != "win32":  # there, an open file cannot be removed
                file = opened.enter_context(path.open("r+b"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


# ---- reading ---------------------------------------------------------------------------------


class Saved:
    """An open file with an intact header; its arrays are read one by one.

    Attributes
    ----------
    path : path
    header : dict
        All fields of the header.
    unread : set of str
        The arrays not read so far.
    """

    def __init__(self, path: PathLike, archive: zipfile.ZipFile, kind: str):
        self.path, self._archive = path, archive
        if "digest.npy" not in archive.namelist():
            raise ValueError("no digest: another program wrote it, or an earlier version")
        text, digest = (_text(archive, name) for name in ("header", "digest"))
        if digest != _digest(text.encode()):
            raise ValueError("the header does not match its digest")
        self.header: Fields = json.loads(text)
        if self.header.get("format") != kind:
            raise ValueError(f"format {_short(self.header.get('format'))}")
        self.unread = set(self.header["arrays"])
        expected = {f"{name}.npy" for name in {"header", "digest", *self.unread}}
        if sorted(expected) != sorted(archive.namelist()):  # each of them once
            raise ValueError(f"expected the arrays {sorted(self.unread)}")

    def require_game(self, form: Described) -> None:
        """Raise a `Mismatch` unless the file belongs to this game."""
        if self.header["fingerprint"] != form.fingerprint():
            raise Mismatch(
                f"{self.path} was saved for {str(self.header['game'])[:MAX_QUOTED]}, not for "
                f"{form.tree.game!r} (or the rules have changed since); load it with the game "
                "it was saved from"
            )

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array, checked against the size of the file."""
        return _shape(self._archive, name)[0]

    def array(
        self, name: str, shape: tuple[int | None, ...], dtype: npt.DTypeLike = np.float64
    ) -> Array:
        """Return an array, which must have this dtype and shape; None stands for any size.

        Raises
        ------
        ValueError
            If it has another dtype or shape, or does not match its digest.
        """
        found, kind = _shape(self._archive, name)
        if kind != np.dtype(dtype):
            raise ValueError(
                f"{name} has dtype {_short(str(kind))}, expected {np.dtype(dtype)}"
            )
        if len(found) != len(shape) or any(
            n not in (None, m) for m, n in zip(found, shape, strict=True)
        ):
            raise ValueError(f"{name} has shape {_short(found)}, expected {shape}")
        array: Array = _read(self._archive, name)
        if self.header["arrays"][name] != [kind.str, list(found), _digest(array)]:
            raise ValueError(f"{name} does not match its digest")
        self.unread.discard(name)
        return array

    def fill(self, **arrays: Array) -> None:
        """Read each array of these names into the array given, of the same dtype and shape."""
        for name, into in arrays.items():
            into[...] = self.array(name, into.shape, into.dtype)


@contextmanager
def reading(path: PathLike, kind: str) -> Iterator[Saved]:
    """Open a file of one format; any error in the block means a damaged file.

    Raises
    ------
    ValueError
        If the file is damaged, of another format, or has arrays that the block does not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            file = Saved(path, archive, kind)
            yield file
            if file.unread:
                raise ValueError(f"unexpected arrays {sorted(file.unread)}")
    except (FileNotFoundError, Mismatch, GameError):
        raise
    except Exception as error:  # NumPy and zipfile raise many types of error on damaged files
        raise _damaged(path, kind, error) from error


def _damaged(path: PathLike, kind: str, error: Exception) -> ValueError:
    reason = str(error) or type(error).__name__
    if len(reason) > 3 * MAX_QUOTED:
        reason = f"{reason[: 3 * MAX_QUOTED]}…"
    writer = kind.split()[0].rpartition(".")[2]
    return ValueError(
        f"{path} is not a complete file written by {writer}.save ({reason}); save it again"
    )


def _short(value: object) -> str:
    """Return the repr of a value, truncated for an error message."""
    shown = repr(value)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[:MAX_QUOTED]}…"


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of an array without reading it, checked against its size."""
    info = archive.getinfo(f"{name}.npy")
    assert archive.filename is not None
    if not info.compress_size == info.file_size <= Path(archive.filename).stat().st_size:
        raise ValueError(f"{name} is compressed")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(member)
        size = math.prod(shape) * dtype.itemsize
        if (
            dtype.hasobject
            or min(shape, default=0) < 0
            or info.file_size - member.tell() != size
        ):
            raise ValueError(f"the size of {name} contradicts its shape")
    return shape, dtype


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _text(archive: zipfile.ZipFile, name: str) -> str:
    """Return an array that is one string."""
    shape, dtype = _shape(archive, name)
    if shape or dtype.kind != "U":
        raise ValueError(f"no {name}")
    return str(_read(archive, name))
