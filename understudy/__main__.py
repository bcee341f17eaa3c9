"""The command `understudy`, also as `python -m understudy`: Ctrl-C is quiet while the library is loaded, too."""

import sys
import traceback

BUG = 70
"""The exit code of an error that nothing here foresaw. Python's own, 1, would say that a log must not be believed."""


def main() -> int:
    """Run a command of `sys.argv`, and return its exit code."""
    try:
        from understudy.cli import main as run  # takes a second, in which people press Ctrl-C as well

        return run()
    except KeyboardInterrupt:  # within a command it is handled there
        print("understudy: interrupted", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        print(
            "understudy: this error was not foreseen, and says nothing about the log; please report it with the lines "
            "above",
            file=sys.stderr,
        )
        return BUG


if __name__ == "__main__":
    sys.exit(main())
