"""The command `understudy`, also as `python -m understudy`: Ctrl-C is quiet while the library is loaded, too."""

import sys


def main() -> int:
    """Run a command of `sys.argv`, and return its exit code."""
    try:
        from understudy.cli import main as run  # takes a second, in which people press Ctrl-C as well

        return run()
    except KeyboardInterrupt:  # within a command it is handled there
        print("understudy: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
