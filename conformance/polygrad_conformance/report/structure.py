"""Does data follow schema.json? The part of JSON Schema that the schema uses, without a dependency.

The tests compare the verdicts with those of the package jsonschema.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

__all__ = ["KEYWORDS", "fault", "schema"]

SCHEMA_FILE = Path(__file__).with_name("schema.json")
# What `fault` understands, and what says nothing about validity.
KEYWORDS = frozenset({
    "$ref", "type", "const", "enum", "anyOf", "pattern", "minimum", "required", "properties",
    "additionalProperties", "items", "prefixItems", "minItems", "maxItems",
    "$schema", "$id", "$defs", "title", "description",
})  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,),
    "number": (int, float), "null": (type(None),),
}  # fmt: skip

Schema = dict[str, Any]


@cache
def schema() -> Schema:
    """The published schema."""
    found: Schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return found


def fault(data: Any, rule: Schema | None = None, place: str = "$") -> str:
    """The first thing in `data` that breaks the schema, with its place; empty if nothing does.

    >>> fault({}, {"type": "object", "required": ["id"]})
    '$ has no "id"'
    """
    rule = schema() if rule is None else rule
    while "$ref" in rule:
        rule = schema()["$defs"][rule["$ref"].rpartition("/")[2]]
    kinds = rule.get("type")
    if kinds and (not isinstance(data, _TYPES[kinds]) or isinstance(data, bool)):
        return f"{place} is {_shown(data)}, which is no {kinds}"
    if "const" in rule and (data != rule["const"] or isinstance(data, bool)):
        return f"{place} is {_shown(data)}, not {_shown(rule['const'])}"
    if "enum" in rule and data not in rule["enum"]:
        return f"{place} is {_shown(data)}, not one of {_shown(rule['enum'], 200)}"
    if "pattern" in rule and not re.search(rule["pattern"], data):
        return f"{place} is {_shown(data)}, which does not match {rule['pattern']}"
    if "minimum" in rule and data < rule["minimum"]:
        return f"{place} is {_shown(data)}, which is less than {rule['minimum']}"
    found = ""
    if isinstance(data, dict):
        found = _fault_of_object(data, rule, place)
    elif isinstance(data, list):
        found = _fault_of_array(data, rule, place)
    if found or "anyOf" not in rule:
        return found
    for choice in rule["anyOf"]:
        found = fault(data, choice, place)
        if not found:
            break
    return found  # of the last choice, which says most: they go from simple to composed


def _fault_of_object(data: dict[str, Any], rule: Schema, place: str) -> str:
    for name in rule.get("required", ()):
        if name not in data:
            return f'{place} has no "{name}"'
    known, rest = rule.get("properties", {}), rule.get("additionalProperties", True)
    for name, value in data.items():
        below = f"{place}.{name[:80]}"
        if name not in known and rest is False:
            return f"{below} is not known to this schema"
        inner = known.get(name, rest)
        found = fault(value, inner, below) if isinstance(inner, dict) else ""
        if found:
            return found
    return ""


def _fault_of_array(data: list[Any], rule: Schema, place: str) -> str:
    least, most = rule.get("minItems", 0), rule.get("maxItems", len(data))
    if not least <= len(data) <= most:
        return f"{place} has {len(data)} items, not {least} to {most}"
    first = rule.get("prefixItems", [])
    rules = chain(first, repeat(rule.get("items", {})))
    pairs = enumerate(zip(data, rules, strict=False))
    return next((f for i, (x, inner) in pairs if (f := fault(x, inner, f"{place}[{i}]"))), "")


def _shown(data: Any, limit: int = 60) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + "…"
