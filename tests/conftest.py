"""What several tests share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def whygpu() -> Run:
    """Run the command as a user does: ``whygpu("draw", "cube", ...)`` in a process of its own."""

    def run(
        *arguments: str, cwd: Path | None = None, timeout: float = 120, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "whygpu", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            cwd=cwd,
            env={**os.environ, "LANG": "C.UTF-8", **environment},
            check=False,
        )

    return run
