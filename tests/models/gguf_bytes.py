"""GGUF files made byte by byte, from the format's specification (ggml, docs/gguf.md)."""

import struct


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def header(
    entries: bytes = b"",
    count: int = 0,
    tensors: bytes = b"",
    number: int = 0,
    version: int = 3,
    data: bytes = b"",
) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, number, count) + entries + tensors
    return head + bytes(-len(head) % 32) + data


def tensor(name: str = "t", dims: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    return (
        text(name)
        + struct.pack("<I", len(dims))
        + struct.pack(f"<{len(dims)}Q", *dims)
        + struct.pack("<IQ", kind, offset)
    )


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


HOSTILE = {
    "empty": (b"", "empty"),
    "other format": (b"PK\x03\x04" + bytes(40), "not a GGUF file"),
    "magic only": (b"GGUF", "truncated"),
    "version 1": (header(version=1), "version 1 is not supported; supported: 2, 3"),
    "byte-swapped": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "byte-swapped"),
    "huge count of entries": (header(count=2**63), "claims 9223372036854775808 metadata entries"),
    "huge count of tensors": (header(number=2**40), "claims 1099511627776 tensors"),
    "entries that are not there": (header(count=60_000), "truncated or lies"),
    "string of 2^63": (header(struct.pack("<Q", 2**63) + bytes(40), 1), "claims 9223372036854775808 bytes"),
    "string past the end": (header(struct.pack("<Q", 5000) + bytes(40), 1), "truncated or lies"),
    "array of 2^60 bytes": (header(entry("a", 9, struct.pack("<IQ", 0, 2**60)), 1), "truncated or lies"),
    # 43 bytes: an array of arrays whose count makes gguf 0.19 loop for years
    "array of arrays": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a")[:9] + struct.pack("<IIQ", 9, 9, 2**62)[:10],
        "truncated",
    ),
    "nested": (header(entry("a", 9, struct.pack("<IQ", 9, 2) + bytes(99)), 1), "holds arrays"),
    "unknown value type": (header(entry("a", 13, bytes(30)), 1), "has type 13; GGUF defines 0 to 12"),
    "truth value 2": (header(entry("a", 7, b"\x02" + bytes(20)), 1), "a truth value is 0 or 1"),
    "key twice": (header(entry("a", 0, b"\x01") * 2 + bytes(20), 2), "twice"),
    "bad UTF-8": (header(entry("a", 8, struct.pack("<Q", 2) + b"\xff\xfe"), 1), "not valid UTF-8"),
    "alignment 3": (header(entry("general.alignment", 4, struct.pack("<I", 3)), 1), "power of two"),
    "alignment 0": (header(entry("general.alignment", 4, struct.pack("<I", 0)), 1), "power of two"),
    "alignment 2^31": (header(entry("general.alignment", 4, struct.pack("<I", 2**31)), 1), "power of two"),
    "dims of 2^42": (header(tensors=tensor(dims=(2**42 + 1,)), number=1), "each dimension must be"),
    "dims of 0": (header(tensors=tensor(dims=(0,)), number=1), "each dimension must be"),
    "product overflows": (header(tensors=tensor(dims=(2**40,) * 4), number=1), "truncated or lies"),
    "5 dims": (header(tensors=tensor(dims=(1,) * 5), number=1), "5 dimensions"),
    "unknown tensor type": (
        header(tensors=tensor(kind=99), number=1),
        "type 99, which is unknown; known: F32",
    ),
    "ragged rows": (header(tensors=tensor(dims=(33,), kind=2), number=1, data=bytes(99)), "multiple of Q4_0"),
    "past the end": (header(tensors=tensor(), number=1, data=bytes(96)), "ends at byte"),
    "offset of 2^63": (header(tensors=tensor(offset=2**63), number=1, data=bytes(128)), "ends at byte"),
    "crooked offset": (header(tensors=tensor(offset=7), number=1, data=bytes(256)), "multiple of the align"),
    "overlap": (
        header(tensors=tensor("t") + tensor("u", offset=32), number=2, data=bytes(512)),
        "'u' overlaps tensor 't'",
    ),
    "strings of 2^63 in an array": (
        header(entry("a", 9, struct.pack("<IQ", 8, 2) + text("x") + struct.pack("<Q", 2**63) + bytes(40)), 1),
        "claims 9223372036854775808 bytes",
    ),
    "strings past the end of an array": (
        header(entry("a", 9, struct.pack("<IQ", 8, 2) + text("x") + struct.pack("<Q", 999) + bytes(40)), 1),
        "truncated or lies",
    ),
    "bad UTF-8 in an array": (
        header(entry("a", 9, struct.pack("<IQ", 8, 1) + struct.pack("<Q", 2) + b"\xff\xfe"), 1),
        "not valid UTF-8",
    ),
    "more strings than any model has": (
        header(entry("a", 9, struct.pack("<IQ", 8, 1_600_000) + bytes(8 * 1_600_000)), 1),
        "claims 1600000 strings; at most 1500000 are read",
    ),
    "array of unknown type": (header(entry("a", 9, struct.pack("<IQ", 77, 2) + bytes(99)), 1), "type 77"),
    "alignment as text": (header(entry("general.alignment", 8, text("32")), 1), "power of two"),
    "alignment as a truth value": (header(entry("general.alignment", 7, b"\x01"), 1), "power of two"),
    "dims of 2^42 in each": (header(tensors=tensor(dims=(2**42,) * 2), number=1), "each dimension must be"),
    "big-endian counts": (b"GGUF" + struct.pack("<I", 3) + struct.pack(">QQ", 1, 1) + bytes(99), "claims"),
    "tensor twice": (
        header(tensors=tensor("t") + tensor("t", offset=128), number=2, data=bytes(512)),
        "twice",
    ),
}
