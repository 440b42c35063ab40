"""Typed arrays from bytes (glTF 2.0, section 3.6): strides, normalised integers, sparse replacements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.document import Document

__all__ = ["Accessors"]

Floats = NDArray[np.float32]

COMPONENT: dict[int, type[np.generic]] = {
    5120: np.int8,
    5121: np.uint8,
    5122: np.int16,
    5123: np.uint16,
    5125: np.uint32,
    5126: np.float32,
}
WIDTH = {
    "SCALAR": (1, 1),
    "VEC2": (1, 2),
    "VEC3": (1, 3),
    "VEC4": (1, 4),
    "MAT2": (2, 2),
    "MAT3": (3, 3),
    "MAT4": (4, 4),
}
"""Columns, and rows in each; a column of a matrix begins at a multiple of four bytes."""


class Accessors:
    """Decodes each accessor once; primitives that share one share its array."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._raw: dict[int, Any] = {}
        self._floats: dict[tuple[int, bool], Floats] = {}

    def floats(
        self, index: int, where: str, types: tuple[str, ...], count: int | None = None, *, whole: bool = False
    ) -> Floats:
        """An accessor as (count, width) float32; integers as they are, or -1 to 1 where ``normalized``.

        ``whole`` treats integers as normalised whatever the file says (colours, weights, rotations).
        """
        accessor = self._checked(index, where, types, count)
        key = index, whole
        if key not in self._floats:
            raw = self.raw(index, where)
            if not np.issubdtype(raw.dtype, np.floating):
                self.document.source.budget.take(4 * raw.size, f"accessors[{index}]")
            values = _normalised(raw) if accessor.normalized or whole else raw.astype(np.float32)
            if not np.isfinite(values).all():
                row = int(np.argmin(np.isfinite(values).all(1)))
                raise self.document.fail(
                    f"accessors[{index}]",
                    f"element {row} ({where}) is {values[row].tolist()}; numbers must be finite",
                )
            values.flags.writeable = False
            self._floats[key] = values
        return self._floats[key]

    def integers(self, index: int, where: str, types: tuple[str, ...], count: int | None = None) -> Any:
        """An accessor of unsigned integers, (count, width), as stored."""
        accessor = self._checked(index, where, types, count)
        if accessor.componentType not in (5121, 5123, 5125):
            raise self.document.fail(
                where,
                f"accessors[{index}] has component type {accessor.componentType}; "
                "unsigned integers are 5121, 5123 or 5125",
            )
        return self.raw(index, where)

    def put(self, index: int, values: Any) -> None:
        """Give an accessor its elements, (count, width), when they come from elsewhere (Draco)."""
        self._raw[index] = values

    def raw(self, index: int, where: str) -> Any:
        """An accessor's elements, (count, width), in their own type."""
        if index not in self._raw:
            self._raw[index] = self._read(index, where)
        return self._raw[index]

    def _checked(self, index: int, where: str, types: tuple[str, ...], count: int | None) -> schema.Accessor:
        accessor: schema.Accessor = self.document.item("accessors", index, where)
        if accessor.type not in types:
            raise self.document.fail(
                where, f"accessors[{index}] is {accessor.type}; it must be {' or '.join(types)}"
            )
        if count is not None and accessor.count != count:
            raise self.document.fail(
                where, f"accessors[{index}] has {accessor.count:,} elements; {count:,} are needed"
            )
        return accessor

    def _read(self, index: int, where: str) -> Any:
        accessor: schema.Accessor = self.document.item("accessors", index, where)
        here = f"accessors[{index}]"
        columns, rows = WIDTH[accessor.type]
        dtype = np.dtype(COMPONENT[accessor.componentType]).newbyteorder("<")
        self.document.source.budget.take(accessor.count * columns * rows * dtype.itemsize, here)
        if accessor.bufferView is None:
            values = np.zeros((accessor.count, columns * rows), dtype)
        else:
            values = self._elements(
                accessor.bufferView, accessor.byteOffset, accessor.count, dtype, columns, rows, here
            )
        if accessor.sparse is not None:
            self._replace(values, accessor.sparse, dtype, columns, rows, f"{here}.sparse")
        return values

    def _elements(
        self, view: int, offset: int, count: int, dtype: Any, columns: int, rows: int, where: str
    ) -> Any:
        data, stride = self.document.view(view, f"{where}.bufferView")
        step = dtype.itemsize * rows
        column = step if columns == 1 else -(-step // 4) * 4
        element = column * (columns - 1) + step
        stride = stride or column * columns
        if stride < element:
            raise self.document.fail(
                f"bufferViews[{view}].byteStride", f"{stride}; an element of {where} has {element} bytes"
            )
        end = offset + stride * (count - 1) + element
        if end > len(data):
            raise self.document.fail(
                where,
                f"{count:,} elements end at byte {end:,} of bufferViews[{view}], which has {len(data):,}",
            )
        strides = (stride, column, dtype.itemsize)
        found = np.ndarray((count, columns, rows), dtype, data[offset:end], 0, strides)
        return found.reshape(count, columns * rows).copy()

    def _replace(
        self, values: Any, sparse: schema.Sparse, dtype: Any, columns: int, rows: int, where: str
    ) -> None:
        if sparse.count > len(values):
            raise self.document.fail(
                f"{where}.count", f"{sparse.count:,} elements are replaced; there are {len(values):,}"
            )
        places = self._elements(
            sparse.indices.bufferView,
            sparse.indices.byteOffset,
            sparse.count,
            np.dtype(COMPONENT[sparse.indices.componentType]).newbyteorder("<"),
            1,
            1,
            f"{where}.indices",
        )[:, 0].astype(np.int64)
        if int(places.max()) >= len(values) or (np.diff(places) <= 0).any():
            raise self.document.fail(
                f"{where}.indices", f"they must grow and stay below {len(values):,}, the accessor's count"
            )
        values[places] = self._elements(
            sparse.values.bufferView,
            sparse.values.byteOffset,
            sparse.count,
            dtype,
            columns,
            rows,
            f"{where}.values",
        )


def _normalised(raw: Any) -> Floats:
    """Integers as fractions of their type's largest value (section 3.11): c / max, at least -1."""
    if np.issubdtype(raw.dtype, np.floating):
        return np.asarray(raw, np.float32)
    values: Floats = (raw.astype(np.float64) / np.iinfo(raw.dtype).max).astype(np.float32)
    np.maximum(values, np.float32(-1.0), out=values)
    return values
