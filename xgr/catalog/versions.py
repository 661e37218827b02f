"""Versions of a catalogue: atomic swap, and the old one freed at its last use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.readers import read_catalogue

Prepare = Callable[[Catalogue], Catalogue]


class Pin:
    """A use of one version; `with` or `release` ends it."""

    def __init__(self, store: CatalogueStore, version: _Version) -> None:
        self._store = store
        self._version: _Version | None = version

    @property
    def catalogue(self) -> Catalogue:
        """The pinned catalogue, whatever was swapped in since."""
        if self._version is None:
            raise RuntimeError("this pin was released")
        return self._version.catalogue

    def release(self) -> None:
        """End the use; again is harmless."""
        version, self._version = self._version, None
        if version is not None:
            self._store._unpin(version)

    def __enter__(self) -> Catalogue:
        """The pinned catalogue."""
        return self.catalogue

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the use."""
        self.release()


class CatalogueStore:
    """Holds the current catalogue; safe to use from several threads.

    Args:
        catalogue: the first version, already as `prepare` would leave it.
        prepare: applied to every later version before it becomes current (renumbering to the
            model's tokens, checking capacities); what it raises refuses the version.
        on_free: called once with each replaced catalogue when nothing uses it any more.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prepare: Prepare | None = None,
        on_free: Callable[[Catalogue], None] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._version = _Version(catalogue)
        self._in_use = [self._version]
        self._prepare = prepare
        self._on_free = on_free

    @property
    def current(self) -> Catalogue:
        """The newest version."""
        return self._version.catalogue

    def pin(self) -> Pin:
        """Use the newest version until the pin is released."""
        with self._lock:
            self._version.pins += 1
            return Pin(self, self._version)

    def swap(self, source: Catalogue | str | os.PathLike[str]) -> Catalogue:
        """Make another catalogue current; readers see the old or the new one, never a part.

        Filters that are registered with the source hold from the same moment.

        Args:
            source: a catalogue, or a file or folder that `read_catalogue` takes.

        Returns:
            The catalogue that is now current, to register later filters with.

        Raises:
            CatalogueError: the source is refused whole, and the old version stays.
        """
        fresh = source if isinstance(source, Catalogue) else read_catalogue(source)
        if self._prepare is not None:
            fresh = self._prepare(fresh)
        with self._lock:
            old, self._version = self._version, _Version(fresh)
            self._in_use.append(self._version)
            old.replaced = True
            gone = self._ended(old)
        self._free(gone)
        return fresh

    def _unpin(self, version: _Version) -> None:
        with self._lock:
            version.pins -= 1
            gone = self._ended(version)
        self._free(gone)

    def _ended(self, version: _Version) -> Catalogue | None:
        # The catalogue that nothing uses any more; one may have been made current twice.
        if version.pins or not version.replaced:
            return None
        self._in_use.remove(version)
        used = any(other.catalogue is version.catalogue for other in self._in_use)
        return None if used else version.catalogue

    def _free(self, gone: Catalogue | None) -> None:
        if gone is not None and self._on_free is not None:
            self._on_free(gone)


class _Version:
    __slots__ = ("catalogue", "pins", "replaced")

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.pins = 0
        self.replaced = False
