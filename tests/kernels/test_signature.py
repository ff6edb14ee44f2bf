"""Parameters of elementwise and reduction kernels: what can be declared, and which types a call gives them."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numloom as np
from numloom.base.dtypes import DTYPES, LOW, code_of
from numloom.kernels.signature import Arguments, declared, identifier, parse

NAMES = [str(dtype) for dtype in DTYPES]


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_can_be_named(name):
    for text in (f"{name} x", f" raw  {name}   x ", f"const {name} x", f"raw const {name} x"):
        (parameter,) = parse(text, "in_params")
        assert (parameter.name, parameter.type, parameter.code) == ("x", name, code_of(name))
        assert parameter.raw == ("raw" in text)


written = st.tuples(
    st.booleans(), st.sampled_from([*"TUVabz", *NAMES]), st.from_regex(r"[a-z]{2}[0-9]", fullmatch=True)
)


@given(st.lists(written, unique_by=lambda parameter: parameter[2]))
def test_declarations_are_read_as_they_are_written(parameters):
    text = ", ".join(f"{'raw ' * raw}{kind} {name}" for raw, kind, name in parameters)
    ins, outs = declared(text, "")
    assert [(p.raw, p.type, p.name) for p in ins] == parameters
    assert outs == ()


@given(st.text(max_size=12))
def test_no_text_passes_as_anything_but_parameters(text):
    try:
        parameters = parse(text, "in_params")
    except (ValueError, TypeError):
        return
    assert all(p.name.isidentifier() and p.name.isascii() for p in parameters)


@pytest.mark.parametrize("name", ["", "1x", "a b", "x;", 'x"', "ä", "a-b", "f(", "x\n", "A¹", "aä"])
def test_names_are_identifiers(name):
    with pytest.raises(ValueError, match="identifier"):
        identifier(name, "the kernel's name")


@pytest.mark.parametrize("name", ["i", "_ind", "for", "operator", "class", "_x"])
def test_reserved_names(name):
    with pytest.raises(ValueError, match="cannot name a parameter"):
        parse(f"T {name}", "in_params")


def types(in_params, out_params, ins, outs=None):
    in_, out = declared(in_params, out_params)
    return Arguments("k", in_, out, ins, outs or [None] * len(out))


def test_placeholders_take_the_types_of_arrays():
    found = types("T x, T y, U z", "T r, U s", [np.ones(2, "f4"), 2, np.ones(2, "i2")])
    assert [DTYPES[code] for code in (*found.in_codes, *found.out_codes)] == ["f4", "f4", "i2", "f4", "i2"]
    found = types("S x", "T r", [np.ones(2, "f4")], [np.ones(2, "u1")])
    assert DTYPES[found.out_codes[0]] == "u1"


@pytest.mark.parametrize("given, dtype", [(True, "?"), (3, "i8"), (2.5, "f8"), (1j, "c16")])
def test_numbers_alone_have_numpys_default_type(given, dtype):
    assert DTYPES[types("T x", "T y", [given]).in_codes[0]] == dtype


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("given", [True, 3, -3, 300, 2.5, 1j], ids=str)
def test_numbers_follow_nep_50(dtype, given):
    array = np.zeros(2, dtype)
    expected = None
    try:
        expected = numpy.add(numpy.zeros(2, dtype), given)
    except OverflowError:
        pass
    fits = expected is not None and (expected.dtype == dtype or (dtype == "bool" and given is True))
    if dtype == "bool" and given is True:
        fits = True
    if type(given) is float and code_of(dtype) in LOW:  # NumPy would compute in float32.
        fits = True
    if fits:
        assert DTYPES[types("T x, T y", "T z", [array, given]).in_codes[1]] == dtype
    else:
        with pytest.raises((TypeError, OverflowError)):
            types("T x, T y", "T z", [array, given])


def test_numpys_scalars_have_their_own_type():
    assert DTYPES[types("T x", "T y", [numpy.int16(3)]).in_codes[0]] == "i2"
    assert DTYPES[types("float64 x", "T y", [numpy.float32(3)], [np.ones(())]).in_codes[0]] == "f8"
    with pytest.raises(TypeError, match="float32 x takes float32, got float64"):
        types("float32 x", "float32 y", [numpy.float64(3)])
    with pytest.raises(TypeError, match="T is float32 by argument x and int16 by argument y"):
        types("T x, T y", "T z", [np.ones(2, "f4"), numpy.int16(2)])
