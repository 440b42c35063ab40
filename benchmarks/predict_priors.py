"""Are the priors chosen too well? Choose their widths on a random half of the groups, report on the other.

python benchmarks/predict_priors.py [FORM ...]     # per form: the errors for each width, and the error on one
                                                   # half of what the other half would have chosen
"""

import dataclasses
import sys

import numpy as np

from whygpu.predict.calibrate import calibrate, held_out, sample
from whygpu.predict.constants import FORMS
from whygpu.predict.measurements import shipped
from whygpu.predict.terms import Form
from whygpu.predict.validate import form_of, usable

WIDTHS = (0.5, 1.0, 2.0)
"""Times the shipped sd of every prior."""
SPLITS = 20


def scaled(form: Form, width: float) -> Form:
    """The form with all priors so many times as wide."""
    return dataclasses.replace(form, priors={key: (c, width * sd) for key, (c, sd) in form.priors.items()})


def main() -> None:
    """Print one table a form."""
    generator = np.random.default_rng(5)
    for name in sys.argv[1:] or list(FORMS):
        rows = [row for row in shipped() if form_of(row) is FORMS[name] and usable(row)]
        s = sample([row.case for row in rows], [row.seconds for row in rows])
        sources = np.array([row.labels["source"].partition("@")[0] for row in rows])
        for way, groups in (("device", s.chip), ("model", s.model), ("source", sources)):
            errors = []
            for width in WIDTHS:
                form = scaled(FORMS[name], width)
                _, fitted = calibrate(form, s)
                seconds, _ = held_out(form, s, fitted, groups)
                errors.append(100 * np.abs(s.seconds / seconds - 1))
            table = np.array(errors)  # (widths, rows)
            names, chosen = np.unique(groups), []
            for _ in range(SPLITS):
                half = np.isin(groups, generator.permutation(names)[: len(names) // 2])
                for part in (half, ~half):
                    best = int(np.argmin(np.median(table[:, part], axis=1)))
                    chosen.append(float(np.median(table[best, ~part])))
            whole = ", ".join(f"x{w:g}: {np.median(e):.1f} %" for w, e in zip(WIDTHS, table, strict=True))
            print(
                f"{name}, leave-one-{way}-out: {whole}; chosen on the other half: {np.mean(chosen):.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
