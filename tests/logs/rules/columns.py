"""What tests of rules share."""

import numpy as np

from understudy.logs import Log, check


def rules_found(columns, **changes):
    """The severity and rule of each finding but notes, in a log of these columns with some of them changed."""
    audit = check(Log.from_columns(**{**columns, **changes}))
    return {(finding.severity, finding.rule) for finding in audit.findings if finding.severity != "note"}


def changed(column, rows, value):
    """A column with another value in some rows."""
    column = np.array(column)
    column[rows] = value
    return column
