"""Fit the constants of ``whygpu predict`` to the measurements that the package ships: writes
data/constants.toml.

python benchmarks/predict_fit.py [FORM ...]
"""

import sys
import time
import tomllib
from pathlib import Path

import whygpu.predict
from whygpu.predict.constants import FORMS
from whygpu.predict.measurements import shipped
from whygpu.predict.validate import calibrated, form_of, usable

HEAD = (Path(whygpu.predict.__file__).parent / "data" / "constants_head.txt").read_text("utf-8")


def block(title: str, values: dict[str, float], digits: int) -> list[str]:
    """A table of the file."""
    lines = [f"[{title}]"]
    lines += [f'"{name}" = {round(value, digits)}' for name, value in sorted(values.items())]
    return [*lines, ""]


def main() -> None:
    """Fit what was asked for, keep the rest."""
    path = Path(whygpu.predict.__file__).parent / "data" / "constants.toml"
    kept = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    wanted = sys.argv[1:] or list(FORMS)
    lines = [HEAD]
    for name, form in FORMS.items():
        if name in wanted or name not in kept:
            began = time.perf_counter()
            rows = [row for row in shipped() if form_of(row) is form and usable(row)]
            c = calibrated(form, rows)
            row = {
                "rows": len(rows),
                "low": c.low,
                "high": c.high,
                "constants": dict(c.constants),
                "devices": dict(c.devices),
                "models": dict(c.models),
                "support": dict(c.support),
            }
            print(
                f"{name}: {len(rows)} rows, {len(c.constants)} constants, band {c.low:.2f} to {c.high:.2f}, "
                f"{time.perf_counter() - began:.0f} s"
            )
        else:
            row = kept[name]
        lines += [
            f"[{name}]",
            f"rows = {row['rows']}",
            f"low = {row['low']:.4f}",
            f"high = {row['high']:.4f}",
            "",
        ]
        for part, digits in (("constants", 4), ("devices", 4), ("models", 4), ("support", 0)):
            lines += block(f"{name}.{part}", row[part], digits)
    path.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
