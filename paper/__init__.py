"""The experiments of the paper that this library implements, an item for each of its figures and tables.

Run them with `python -m paper` in the folder of the source, or with `make paper`; they are not part of the installed
package. An item is a module here with a `TITLE`, settings at its top (`FULL` and `QUICK`) and `run(workspace) -> Item`.
To add one, write the module and put its name into `reproducing.ITEMS`.
"""

from paper.reproducing import reproduce

__all__ = ["reproduce"]
