"""Which scenes may be drawn: built in, uploaded, or files below the folders that were named."""

import secrets
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from whygpu import draw
from whygpu.draw.load import FORMATS
from whygpu.engine import UserError
from whygpu.lab.errors import Refused, TooLarge, Unknown
from whygpu.lab.limits import TRIANGLES
from whygpu.lab.roots import Roots

__all__ = ["Scenes"]

KEPT = 6
"""Scenes in memory; the one not used for longest goes first."""
UPLOADS = 8
"""Files that visitors brought; the oldest goes first."""


class Scenes:
    """Scenes by a name: ``cube``, ``file:ROOT/PATH`` or ``upload:ID``."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._scenes: OrderedDict[str, draw.Scene] = OrderedDict()
        self._uploads: OrderedDict[str, tuple[str, Path]] = OrderedDict()
        self._folder = tempfile.TemporaryDirectory(prefix="whygpu-lab-")
        self._lock = threading.Lock()

    def listed(self) -> dict[str, Any]:
        """What can be chosen."""
        found = self._roots.found(lambda path: path.suffix.lower() in FORMATS and path.is_file())
        files = [{"id": f"file:{name}", "name": path.name} for name, path in found]
        with self._lock:
            uploads = [{"id": f"upload:{key}", "name": name} for key, (name, _) in self._uploads.items()]
        return {"built_in": list(draw.BUILT_IN), "files": files, "uploads": uploads, "formats": list(FORMATS)}

    def upload(self, name: str, data: bytes) -> str:
        """Keep a file that a visitor brought, and read it once; its id.

        Raises
        ------
        UserError
            Where it is no scene, or too large to be drawn live.
        """
        suffix = Path(name).suffix.lower()
        if suffix not in FORMATS:
            raise Refused(f"{name[:80]}: only {', '.join(FORMATS)} can be drawn")
        key = secrets.token_hex(8)
        folder = Path(self._folder.name) / key
        folder.mkdir()
        path = folder / f"scene{suffix}"
        path.write_bytes(data)
        try:
            scene = _fits(draw.load(path))
        except UserError as error:
            path.unlink()
            folder.rmdir()
            raise Refused(str(error).replace(str(path), name[:80])) from error
        with self._lock:
            self._uploads[key] = (Path(name).name[:80], path)
            self._keep(f"upload:{key}", scene)
            while len(self._uploads) > UPLOADS:
                old, (_, gone) = self._uploads.popitem(last=False)
                self._scenes.pop(f"upload:{old}", None)
                gone.unlink(missing_ok=True)
        return f"upload:{key}"

    def scene(self, name: str) -> draw.Scene:
        """The scene of that name, read when it is first asked for.

        Raises
        ------
        UserError
            For an unknown name, a file outside the roots, or a scene that is too large.
        """
        with self._lock:
            if name in self._scenes:
                self._scenes.move_to_end(name)
                return self._scenes[name]
        found = _fits(draw.load(self._place(name)))
        with self._lock:
            self._keep(name, found)
        return found

    def close(self) -> None:
        """Remove what visitors brought."""
        self._folder.cleanup()

    def _place(self, name: str) -> str | Path:
        if name.startswith("upload:"):
            with self._lock:
                if name[7:] in self._uploads:
                    return self._uploads[name[7:]][1]
            raise Unknown(f"scene {name[:40]!r} is not here any more; bring it again")
        if name.startswith("file:"):
            path = self._roots.place(name[5:])
            if path is not None and path.suffix.lower() in FORMATS and path.is_file():
                return path
            raise Unknown(f"scene {name[:80]!r} is in none of the folders that were named (--files)")
        if name.partition(":")[0] not in draw.BUILT_IN:
            raise Unknown(f"scene {name[:80]!r} is unknown; built in: {', '.join(draw.BUILT_IN)}")
        return name

    def _keep(self, name: str, scene: draw.Scene) -> None:
        self._scenes[name] = scene
        while len(self._scenes) > KEPT:
            self._scenes.popitem(last=False)


def _fits(scene: draw.Scene) -> draw.Scene:
    if scene.triangles > TRIANGLES:
        raise TooLarge(f"the scene has {scene.triangles:,} triangles; {TRIANGLES:,} are the most drawn live")
    return scene
