"""Units are exact, GB is not GiB, and no text reaches pint that could hang or run."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwall import units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.35 TB/s", Fraction(3_350_000_000_000)),
        ("80 GB", Fraction(80 * 10**9)),
        ("192 GiB", Fraction(192 * 2**30)),
        ("989.4 TFLOP/s", Fraction(9894 * 10**11)),
        ("4 bit/element", Fraction(1, 2)),
        ("70 %", Fraction(7, 10)),
        ("1_307.4", Fraction(13074, 10)),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_magnitudes_are_exact(text, value):
    assert units.parse(text).value == value


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("GB", "GiB", True),
        ("GB", "GB/s", False),
        ("byte", "", False),
        ("token", "", False),
        ("byte/element*element", "byte", True),
        ("layer", "head", True),
    ],
)
def test_dimensions(left, right, same):
    assert units.same_dimension(left, right) is same


@pytest.mark.parametrize(
    "text",
    ["", "GB", "3 XB", "1e999", "1e400", "nan", "inf GB", "3 GB**99999999", "3 GB^99", "3 GB/", "3 GB//s", "--3",
     "__import__('os')", "3 __import__", "9**9**9", "3 " + "a" * 99, "0x10", "1/0", "١٢"],
)  # fmt: skip
def test_other_texts_are_refused(text):
    with pytest.raises(units.UnitError, match="expected"):
        units.parse(text)


@given(st.fractions(min_value=0, max_value=10**12, max_denominator=1), st.sampled_from(["GB", "GiB", "TB/s", "token"]))
def test_scaling_is_linear(number, unit):
    assert units.parse(f"{int(number)} {unit}").value == number * units.factor(unit)


@pytest.mark.parametrize("text", ["8,0 TB/s", "8,00 TB/s", "0,125 TB/s", "80,00", "1,2345", "1,23,456", "1,000_000",
                                  "1__000", "8_0 GB", "1,", "1,000, GB", "12345,678", "1e1_0"])  # fmt: skip
def test_separators_are_groups_of_three(text):
    """A decimal comma must not make ten times as much of a value."""
    with pytest.raises(units.UnitError, match="expected"):
        units.parse(text)
    with pytest.raises(units.UnitError, match="expected"):
        units.parse_number(text.split()[0])


@pytest.mark.parametrize(("text", "value"), [("128,000 token", 128000), ("1_234_567", 1234567), ("-1,000", -1000)])
def test_groups_of_three_are_read(text, value):
    assert units.parse(text).value == value
