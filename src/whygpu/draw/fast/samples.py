"""Where a pixel's samples lie: the standard patterns of Direct3D 11 (its functional specification, 19.2.4).

No two samples share a row or a column, so that edges which are almost level or upright get as many steps
as there are samples.
"""

__all__ = ["PATTERNS"]

PATTERNS = {
    1: ((0, 0),),
    4: ((-2, -6), (6, -2), (-6, 2), (2, 6)),
    16: (
        (1, 1), (-1, -3), (-3, 2), (4, -1), (-5, -2), (2, 5), (5, 3), (3, -5),
        (-2, 6), (0, -7), (-4, -6), (-6, 4), (-8, 0), (7, -4), (6, 7), (-7, -8),
    ),
}  # fmt: skip
"""By the number of samples: x and y from the pixel's centre, in 16ths of a pixel, y down."""
