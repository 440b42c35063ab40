#!/bin/sh
# All checks of one device in one run, under 4 minutes, one table: `benchmarks/device.sh torch:cuda`.
# Without a name: the best device that is here (--device auto). Writes benchmarks/results/device-NAME.json.
# PYTHON names the interpreter (default: .venv/bin/python, else python3).
set -eu
cd "$(dirname "$0")/.."
if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    [ -x .venv/bin/python ] && PYTHON=.venv/bin/python
fi
exec "$PYTHON" benchmarks/device.py "${1:-auto}" "${2:-benchmarks/results}"
