"""Where each quantity of a block of pixels stands in a thread's working space: field by field, float32."""

__all__ = [
    "ALPHA",
    "BLOCK",
    "BLUE",
    "EMISSIVE_B",
    "EMISSIVE_G",
    "EMISSIVE_R",
    "FIELDS",
    "GREEN",
    "HIDDEN_EYE",
    "LX",
    "LY",
    "LZ",
    "METAL",
    "NX",
    "NY",
    "NZ",
    "OCCLUSION",
    "PX",
    "PY",
    "RED",
    "ROUGH",
    "SCALE",
    "SMOOTH_X",
    "SMOOTH_Y",
    "SMOOTH_Z",
    "STRENGTH", "STRIDE",
    "SUM_B",
    "SUM_G",
    "SUM_R",
    "TO_EYE",
    "TW",
    "TX",
    "TY",
    "TZ",
    "VX",
    "VY",
    "VZ",
    "WX",
    "WY",
    "WZ",
]  # fmt: skip

BLOCK = 256
"""Pixels that are shaded together; what plain shading needs of them stays in the first-level cache."""
STRIDE = 272
"""From one field to the next. Were it a power of two, a pixel's fields would share few of the cache's sets
(2 to 4 % slower here)."""

# Of every picture.
NX, NY, NZ = 0, STRIDE, 2 * STRIDE  # the normal
RED, GREEN, BLUE, SCALE = 3 * STRIDE, 4 * STRIDE, 5 * STRIDE, 6 * STRIDE  # base colour (times SCALE at first)
VX, VY, VZ, TO_EYE = 7 * STRIDE, 8 * STRIDE, 9 * STRIDE, 10 * STRIDE  # the unit vector to the eye, n . v
SUM_R, SUM_G, SUM_B = 11 * STRIDE, 12 * STRIDE, 13 * STRIDE  # the light so far
HIDDEN_EYE = 14 * STRIDE  # of the model's masking term, what depends on the eye
# Of pictures with textures, shadows and the rest.
ALPHA, METAL, ROUGH, OCCLUSION = 15 * STRIDE, 16 * STRIDE, 17 * STRIDE, 18 * STRIDE
EMISSIVE_R, EMISSIVE_G, EMISSIVE_B = 19 * STRIDE, 20 * STRIDE, 21 * STRIDE
TX, TY, TZ, TW = 22 * STRIDE, 23 * STRIDE, 24 * STRIDE, 25 * STRIDE  # the tangent, and the bitangent's side
SMOOTH_X, SMOOTH_Y, SMOOTH_Z = 26 * STRIDE, 27 * STRIDE, 28 * STRIDE  # the normal before any normal map
PX, PY = 29 * STRIDE, 30 * STRIDE  # column and row
LX, LY, LZ, STRENGTH = 31 * STRIDE, 32 * STRIDE, 33 * STRIDE, 34 * STRIDE  # the unit vector to a light
FIELDS = 35
"""Floats of working space a pixel."""

WX, WY, WZ = 0, STRIDE, 2 * STRIDE  # place in the world, float64, in a space of its own
