"""Flags for logs that are larger than memory."""

import argparse
from typing import Any


def add_on_disk(parser: argparse.ArgumentParser) -> None:
    """Add the flag that keeps a log on disk."""
    parser.add_argument(
        "--on-disk",
        metavar="FOLDER",
        help="keep the log there, mapped and not in memory; later calls open it without reading LOG again",
    )


def given_on_disk(options: argparse.Namespace) -> dict[str, Any]:
    """Return the flag as `read` takes it. It changes no result, so it is not among those that a folder's runs share."""
    folder = vars(options).get("on_disk")
    return {} if folder is None else {"on_disk": folder}
