"""Write the special cases of the array API standard as a table of numbers.

    python conformance/write_special_cases.py array-api/src/array_api_stubs/_2025_12

Reads the sentences "If x_i is ..., the result is ..." of the elementwise functions and applies each
to numbers: infinities, zeros, NaN, and some ordinary ones. What it prints is committed with the
conformance suite (`data/special_cases.toml`), so that nothing is parsed when the suite runs.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from pathlib import Path

REALS = ["nan", "inf", "-inf", "0", "-0", "1", "-1", "0.5", "-0.5", "2.5", "-2.5", "3", "-3", "2"]
PARTS = ["nan", "inf", "-inf", "0", "-0", "1", "0.5", "2.5", "-2.5"]
PI = {"π/2": "pi/2", "π": "pi", "π/4": "pi/4", "3π/4": "3pi/4"}


def sentences(source):
    """(function, [sentence of real operands], [sentence of complex operands])."""
    for text in re.split(r"\n(?=def )", source)[1:]:
        name = re.match(r"def (\w+)", text)[1]
        found = re.search(
            r"\*\*Special cases\*\*(.*?)(?:\.\. version|\"\"\"|Parameters\n)",
            text, re.DOTALL,
        )  # fmt: skip
        real, complex_, part = [], [], None
        for raw in (found[1] if found else "").splitlines():
            line = raw.strip()
            if line.startswith("For complex"):
                part = complex_
            elif line.startswith("For "):
                part = real
            elif line.startswith("- If"):
                (real if part is None else part).append(line[2:])
        yield name, real, complex_


def number(text):
    text = text.strip("` ").replace("+infinity", "inf").replace("-infinity", "-inf")
    return text.replace("infinity", "inf").removeprefix("+").replace("NaN", "nan")


def is_same(value, wanted):
    if wanted == "nan":
        return math.isnan(value)
    try:
        w = float(wanted)
    except ValueError:
        return False
    return value == w and math.copysign(1, value) == math.copysign(1, w)


def clause(text):
    """A predicate of the operands by name, of one clause of a condition."""
    text = text.strip().removeprefix("and ").strip()
    found = re.fullmatch(r"either ``(\w+)`` or ``(\w+)`` is ``(.+?)``", text)
    if found:
        a, b, v = found[1], found[2], number(found[3])
        return lambda e: is_same(e[a], v) or is_same(e[b], v)
    found = re.fullmatch(r"``(\w)`` is ``NaN`` or ``(\w)`` is ``NaN``", text)
    if found:
        return lambda e: math.isnan(e[found[1]]) or math.isnan(e[found[2]])
    found = re.fullmatch(r"``(abs\()?(\w+?)\)?`` (?:is )?(.+)", text)
    if not found:
        return None
    absolute, name, rest = found[1], found[2], found[3]
    value = (lambda e: abs(e[name])) if absolute else (lambda e: e[name])
    if rest.startswith("not "):
        inner = clause(f"``{name}`` is {rest[4:]}")
        return inner and (lambda e: not inner(e))
    tests = [
        (r"either ``(.+?)`` or ``(.+?)``",
         lambda m: lambda x: any(is_same(x, number(v)) for v in m.groups())),
        (r"greater than ``(.+?)``", lambda m: lambda x: x > float(m[1])),
        (r"less than ``(.+?)``", lambda m: lambda x: x < float(m[1])),
        (r"equal to ``(.+?)``", lambda m: lambda x: x == float(m[1])),
        (r"a finite number", lambda m: math.isfinite),
        (r"a nonzero finite number", lambda m: lambda x: math.isfinite(x) and x != 0),
        (r"a positive.* finite number", lambda m: lambda x: math.isfinite(x) and x > 0),
        (r"a negative.* finite number", lambda m: lambda x: math.isfinite(x) and x < 0),
        (r"an odd integer value", lambda m: lambda x: math.isfinite(x) and x % 2 == 1),
        (r"an integer value", lambda m: lambda x: math.isfinite(x) and x == int(x)),
        (r"already integer-valued", lambda m: lambda x: math.isfinite(x) and x == int(x)),
        (r"any value.*", lambda m: lambda x: True),
        (r"``([-+\w.]+)``", lambda m: lambda x: is_same(x, number(m[1]))),
    ]  # fmt: skip
    for pattern, make in tests:
        m = re.fullmatch(pattern, rest)
        if m:
            try:
                test = make(m)
            except ValueError:
                return None
            return lambda e, test=test: test(value(e))
    return None


def condition(text, names):
    if set(re.findall(r"(?<=``)(?:abs\()?([a-z]\w*?)\)?(?=``)", text)) - set(names):
        return None  # of other operands
    text = re.sub(r"\(i\.e\.,[^)]*\)\s*", "", text)
    pieces = re.split(r",\s+and\s+|,\s+|\s+and\s+(?=``|either)", text)
    made = [clause(p) for p in pieces if p.strip()]
    return None if None in made else (lambda e: all(c(e) for c in made))


def real_result(text, e):
    text = text.replace("an implementation-dependent approximation to ", "").strip("` .")
    text = text.removesuffix("``, even if ``x1_i`` is ``NaN").strip("` ")
    sign = "-" if text.startswith("-") else ""
    bare = text.lstrip("+-")
    if bare in PI:
        return sign + PI[bare]
    if bare in ("x_i", "x1_i", "x2_i"):
        return sign + repr(e[bare])
    if bare == "|x1_i|":
        return None if math.isnan(e["x1_i"]) else sign + repr(abs(e["x1_i"]))
    if text in ("True", "False"):
        return text.lower()
    try:
        return number(text) if number(text) == "nan" else repr(float(number(text)))
    except ValueError:
        return None


def complex_result(text, e):
    """"real imaginary", each with ? before it where its sign is unspecified."""
    loose = re.search(r"\(signs? of (?:the )?(.+?) (?:is|are) unspecified\)", text)
    text = re.sub(r"\(sign.*", "", text).strip("` .")
    b = e["b"]
    found = re.fullmatch(r"(\+0|\+infinity) \* cis\(b\)( - 1.0)?", text)
    if found:
        if not math.isfinite(b) or b == 0:
            return None
        size = float(number(found[1]))
        parts = [size * math.cos(b) - (1.0 if found[2] else 0.0), size * math.sin(b)]
        return " ".join(map(repr, parts))
    found = re.fullmatch(r"([-+±]?[\wπ/]+) ([-+±]) ?(.*?) ?j?(/\d)?", text)
    if not found:
        return None
    real, sign, imaginary = found[1], found[2], found[3] + (found[4] or "")
    parts = [_part(real), _part(("" if sign == "±" else sign) + imaginary)]
    if None in parts:
        return None
    if real.startswith("±") or (loose and "real" in loose[1]):
        parts[0] = "?" + parts[0].lstrip("-")
    if sign == "±" or (loose and "imaginary" in loose[1]):
        parts[1] = "?" + parts[1].lstrip("-")
    return " ".join(parts)


def _part(text):
    sign = "-" if text.startswith("-") else ""
    bare = text.lstrip("+-±").replace("j", "").strip()
    if bare in PI:
        return sign + PI[bare]
    try:
        plain = number(bare)
        return "nan" if plain == "nan" else repr(float(sign + plain))
    except ValueError:
        return None


# The standard leaves the sign of a zero of tanh open (data-apis/array-api#1006), and of sqrt says
# two things about NaN - infinity j: by the symmetry that it states it is infinity - infinity j.
def settled(name, texts, made):
    """A result as it is meant; None: it is left out."""
    if (name, texts[0]) == ("tanh", "inf") and len(texts) == 2:
        real, imaginary = made.split()
        return f"{real} ?{imaginary.lstrip('-')}" if float(imaginary) == 0 else made
    return None if (name, *texts) == ("sqrt", "nan", "-inf") else made


def rows(lines, grid, result):
    """(sentence, operands, result) for the first sentence that holds for each operands."""
    seen = set()
    parsed = []
    for line in lines:
        found = re.fullmatch(r"If (.+), the result is (.+)", line)
        test = condition(found[1], grid[0][0]) if found else None
        if test is None:
            print("not understood:", line, file=sys.stderr)
            continue
        parsed.append((line, test, found[2]))
    for line, test, text in parsed:
        for names, texts in grid:
            e = dict(zip(names, map(float, texts), strict=True))
            if texts in seen or not test(e):
                continue
            made = result(text, e)
            if made is None:
                continue
            seen.add(texts)
            yield line, texts, made


def main(folder):
    source = (Path(folder) / "elementwise_functions.py").read_text(encoding="utf-8")
    print("# Special cases of the array API standard 2025.12, written by write_special_cases.py:")
    print("# operands, then the result; of complex functions real and imaginary part.")
    print("# ?: the sign is unspecified.")
    for name, real, complex_ in sentences(source):
        binary = any("x1_i" in line for line in real)
        names = ("x1_i", "x2_i") if binary else ("x_i",)
        grid = [(names, texts) for texts in itertools.product(REALS, repeat=len(names))]
        plain = list(rows(real, grid, real_result))
        pairs = [(("a", "b"), texts) for texts in itertools.product(PARTS, repeat=2)]
        both = [
            (line, texts, result)
            for line, texts, made in rows(complex_, pairs, complex_result)
            if (result := settled(name, texts, made)) is not None
        ]
        for title, table in (("real", plain), ("complex", both)):
            if not table:
                continue
            print(f"\n[{name}]" if title == "real" or not plain else "")
            print(f"{title} = [")
            last = None
            for line, texts, made in table:
                if line != last:
                    print(f"    # {re.sub('`', '', line)}")
                    last = line
                values = ", ".join(f'"{t}"' for t in (*texts, *made.split()))
                print(f"    [{values}],")
            print("]")


if __name__ == "__main__":
    main(sys.argv[1])
