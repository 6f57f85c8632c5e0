"""Packages of a page: each is fetched when a program imports it for the first time."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.abc
import io
import json
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBRARIES = Path("/usr/lib")


class Packages(importlib.abc.MetaPathFinder):
    """Unpacks a package of Pyodide, and those it depends on, before it is imported.

    Parameters
    ----------
    lock : dict
        Pyodide's list of packages: files, hashes, dependencies, names to import.
    fetch : function of a file's name or address
        Returns the bytes of the file.
    """

    def __init__(self, lock: dict[str, Any], fetch: Callable[[str], bytes]):
        self.lock, self.fetch = lock, fetch
        self.waiting = {name: key for key, each in lock.items() for name in each["imports"]}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Install what is missing; the usual finders then find it."""
        if name in self.waiting:
            self.install(self.waiting[name])
            importlib.invalidate_caches()

    def install(self, key: str) -> None:
        """Fetch, check and unpack a package, unless that was done.

        Raises
        ------
        ModuleNotFoundError
            If it cannot be fetched, or is not the known one.
        """
        if key not in self.lock:
            return
        package = self.lock.pop(key)
        try:
            for other in package["depends"]:
                self.install(other)
            data = self.fetch(package["file_name"])
            if hashlib.sha256(data).hexdigest() != package["sha256"]:
                raise OSError("it is not the known file")
        except Exception as error:
            self.lock[key] = package
            raise ModuleNotFoundError(
                f"{key} could not be loaded: {error}", name=key
            ) from error
        self.waiting = {name: k for name, k in self.waiting.items() if k != key}
        library = package["package_type"] == "shared_library"
        place = LIBRARIES if library else Path(sysconfig.get_path("purelib"))
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(place)
            if library:
                for name in archive.namelist():
                    load_library(name)


def load_library(name: str) -> None:
    """Load a library under its bare name, by which others refer to it."""
    from pyodide_js._module import LDSO  # type: ignore[import-not-found]

    ctypes.CDLL(str(LIBRARIES / name), ctypes.RTLD_GLOBAL)
    loaded = LDSO.loadedLibsByName
    setattr(loaded, name, getattr(loaded, str(LIBRARIES / name)))


def fetch_from(home: str) -> Callable[[str], bytes]:
    """Return a function that fetches files from a folder; the worker waits for each."""
    from js import URL, XMLHttpRequest  # type: ignore[import-not-found]

    def fetch(name: str) -> bytes:
        request = XMLHttpRequest.new()
        request.open("GET", URL.new(name, home).href, False)
        request.responseType = "arraybuffer"
        request.send()
        if request.status != 200:
            raise OSError(f"status {request.status}")
        return bytes(request.response.to_py())

    return fetch


def install(home: str) -> None:
    """Register the packages of a folder, so that imports find them."""
    fetch = fetch_from(home)
    lock = json.loads(fetch("pyodide-lock.json"))["packages"]
    sys.meta_path.insert(0, Packages(lock, fetch))
