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
    "STRENGTH",
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

# Of every picture.
NX, NY, NZ = 0, BLOCK, 2 * BLOCK  # the normal
RED, GREEN, BLUE, SCALE = 3 * BLOCK, 4 * BLOCK, 5 * BLOCK, 6 * BLOCK  # base colour (times SCALE at first)
VX, VY, VZ, TO_EYE = 7 * BLOCK, 8 * BLOCK, 9 * BLOCK, 10 * BLOCK  # the unit vector to the eye, n . v
SUM_R, SUM_G, SUM_B = 11 * BLOCK, 12 * BLOCK, 13 * BLOCK  # the light so far
HIDDEN_EYE = 14 * BLOCK  # of the model's masking term, what depends on the eye
# Of pictures with textures, shadows and the rest.
ALPHA, METAL, ROUGH, OCCLUSION = 15 * BLOCK, 16 * BLOCK, 17 * BLOCK, 18 * BLOCK
EMISSIVE_R, EMISSIVE_G, EMISSIVE_B = 19 * BLOCK, 20 * BLOCK, 21 * BLOCK
TX, TY, TZ, TW = 22 * BLOCK, 23 * BLOCK, 24 * BLOCK, 25 * BLOCK  # the tangent, and the bitangent's side
SMOOTH_X, SMOOTH_Y, SMOOTH_Z = 26 * BLOCK, 27 * BLOCK, 28 * BLOCK  # the normal before any normal map
PX, PY = 29 * BLOCK, 30 * BLOCK  # column and row
LX, LY, LZ, STRENGTH = 31 * BLOCK, 32 * BLOCK, 33 * BLOCK, 34 * BLOCK  # the unit vector to a light
FIELDS = 35
"""Floats of working space a pixel."""

WX, WY, WZ = 0, BLOCK, 2 * BLOCK  # place in the world, float64, in a space of its own
