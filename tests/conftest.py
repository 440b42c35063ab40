"""What several tests share."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A job that a shell starts in the background ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# `make test` tries 300 inputs of each kind; HYPOTHESIS_PROFILE=nightly tries 10,000
for name, examples in (("test", 300), ("nightly", 10_000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


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


LIMIT = """
def limit(megabytes):
    import resource
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


@pytest.fixture(scope="session")
def memory_limited() -> Callable[[str, str], str]:
    """Run a program in its own process; ``limit(megabytes)`` in it says how much it may still grow."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the memory limit is Linux's")

    def run(program: str, given: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", LIMIT + program],
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run
