"""Numbers as texts with a few significant digits, and never with an exponent that people would have to work out."""

FULL = 1e15
"""Numbers below this are written in full."""


def digits(value: float, n: int = 3, *, sign: bool = False, commas: bool = True) -> str:
    """Return a number with n significant digits, and all digits before its decimal point.

    With `sign`, numbers above zero have one; without `commas`, thousands are not set apart, as in names of states.

    >>> digits(0.01234), digits(2553.2), digits(-12_605.4, 4), digits(1385.0, sign=True), digits(12_345.6, commas=False)
    ('0.0123', '2,553', '-12,605', '+1,385', '12346')
    """
    plus = "+" if sign else ""
    if abs(float(f"{value:.{n}g}")) < 10**n or not abs(value) < FULL:  # `not <`: NaN
        return f"{value:{plus}.{n}g}"
    return f"{value:{plus}{',' if commas else ''}.0f}"


def between(low: float, high: float, n: int = 3, *, sign: bool = False, commas: bool = True) -> str:
    """Return an interval, its ends written by `digits`.

    >>> between(-0.5, 1.25, sign=True)
    '-0.5 to +1.25'
    """
    return f"{digits(low, n, sign=sign, commas=commas)} to {digits(high, n, sign=sign, commas=commas)}"
