"""``python -m whygpu`` and the ``whygpu`` command: Ctrl-C is quiet from the first moment on."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from whygpu.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("\nwhygpu: stopped\n")
        os._exit(130)


if __name__ == "__main__":
    main()
