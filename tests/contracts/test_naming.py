"""Messages name an object as it prints itself, and never by its address."""

from understudy.contracts.naming import name_of


class Bare:
    pass


class WithRepr:
    def __repr__(self):
        return "WithRepr(3)"


class WithStr:
    def __str__(self):
        return "three"


def test_an_object_is_named_as_it_prints_itself():
    assert [name_of(WithRepr()), name_of(WithStr()), name_of("psrs")] == ["WithRepr(3)", "three", "psrs"]


def test_an_object_that_prints_its_address_is_named_by_its_class():
    assert name_of(Bare()) == "Bare"
