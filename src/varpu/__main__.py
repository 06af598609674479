"""``python -m varpu`` is the ``varpu`` command."""

from varpu.cli import main

if __name__ == "__main__":
    main()
