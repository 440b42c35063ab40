"""``python -m whygpu`` is the ``whygpu`` command."""

from whygpu.cli.main import main

if __name__ == "__main__":
    main()
