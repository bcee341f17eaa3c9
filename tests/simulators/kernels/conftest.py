"""Kernels in both of their forms."""

import pytest

from understudy.contracts.compiling import compiled


@pytest.fixture(params=["compiled", "interpreted"])
def form(request):
    """`form(kernel)` is the kernel compiled, or the Python function that it was compiled from."""
    if request.param == "compiled":
        return lambda kernel: kernel
    return lambda kernel: kernel.py_func if compiled(kernel) else kernel
