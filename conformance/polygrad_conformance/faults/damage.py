"""The classes of fault, by name: what each of them does to a function, and who must find it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polygrad.errors import UnsupportedOperationError
from polygrad.families import OPERATIONS
from polygrad_conformance.faults import damage_gradients as gradients
from polygrad_conformance.faults import damage_properties as properties
from polygrad_conformance.faults import damage_values as values
from polygrad_conformance.faults.device import with_capabilities
from polygrad_conformance.faults.planting import Class, damaged, in_function, touch

__all__ = ["DAMAGES", "NUMBERS"]


@contextmanager
def _unsupported(op: str) -> Iterator[None]:
    """No kernel, and the capabilities do not say so; special functions need not be there."""

    def refuse(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if OPERATIONS[op].space != "special":
            touch()
        raise UnsupportedOperationError("no kernel", "the faulty device", "write one")

    with in_function(op, lambda function: damaged(function, refuse)):
        yield


@contextmanager
def _said_to_be_unsupported(op: str) -> Iterator[None]:
    """The capabilities leave out what works."""
    touch()
    with with_capabilities(unsupported=(op,)):
        yield


DAMAGES: dict[str, Class] = {
    "constant result": Class("value", values.values(values.constant)),
    "wrong sign": Class("value", values.values(values.negated)),
    "off by a tenth": Class("value", values.values(values.scaled(1e-1))),
    "off by a thousandth": Class("value", values.values(values.scaled(1e-3))),
    "first element": Class("value", values.values(values.at(lambda flat: 0))),
    "last element": Class("value", values.values(values.at(lambda flat: -1))),
    "tail unwritten": Class("value", values.values(values.tail)),
    "second block": Class("value", values.values(values.second_block)),
    "call refused": Class("value", values.refused),
    "another answer": Class("value", values.wrong_answer),
    "another truth of special values": Class("special", lambda f: damaged(f, values.special_truth)),
    "sign of a zero lost": Class("special", values.values(values.unsigned_zero)),
    "special values lost": Class("special", values.values(values.special)),
    "wrong dtype": Class("dtype", properties.each(properties.other_dtype)),
    "an axis too many": Class("shape", properties.each(properties.one_axis_more)),
    "0-d becomes 1-d": Class("shape", properties.each(properties.vector_of_scalar)),
    "strides ignored": Class("layout", properties.strides_ignored),
    "strides of zero ignored": Class("layout", properties.zero_strides_ignored),
    "dtype of the first operand": Class("promotion", lambda f: damaged(f, properties.first_dtype)),
    "result on another device": Class("device", properties.each(properties.elsewhere)),
    "arguments overwritten": Class("purity", lambda f: damaged(f, properties.overwrites)),
    "differs from call to call": Class("repeat", properties.drifting),
    "no error": Class("error", properties.no_error),
    "another error": Class("error", properties.wrong_error),
    "not supported, which is not said": Class("claims", planted=_unsupported),
    "said to be unsupported": Class("claims", planted=_said_to_be_unsupported),
    "gradient off by a hundredth": Class("grad", gradients.scaled(1.01)),
    "gradient with a term too many": Class("grad", gradients.scaled(1.0, 0.01)),
    "gradient of the wrong sign": Class("grad", gradients.scaled(-1.0)),
    "gradient lost": Class("grad", gradients.scaled(0.0)),
    "gradient doubled": Class("grad", gradients.scaled(2.0)),
    "gradient from nowhere": Class("grad", gradients.leaking(1)),
    "second derivative off": Class("gradgrad", gradients.scaled_in_second_order(1.01)),
    "curvature from nowhere": Class("gradgrad", gradients.leaking(2)),
}  # fmt: skip
# Those that change nothing but numbers: nobody can find them where a function promises none.
NUMBERS = frozenset(
    name for name, c in DAMAGES.items() if c.kind == "value"
) - {"call refused", "another answer"}
