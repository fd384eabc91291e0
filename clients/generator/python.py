"""Shapes as Python's typed dictionaries, and the client that awaits nothing, made from the one that does."""

from __future__ import annotations

import keyword
import re

from generator.documents import Operation
from generator.shapes import Alias, Object, Shapes, Type

WARNING = "Made by clients/generate.py from the daemon's own documents. Do not edit."
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Words of the client that awaits, and what stands for them where nothing is awaited.
SYNCHRONOUS = [
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bAsyncGenerator\[([\w.]+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bAsyncClient\b", "Client"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\baclose\b", "close"),
    (r"\baclosing\b", "closing"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\baread\b", "read"),
    (r"\basyncio\b", "time"),
]


def module(shapes: Shapes, about: str) -> str:
    """All declarations of a document."""
    head = (f'"""{about}\n\n{WARNING}"""\n\nfrom __future__ import annotations\n\n'
            "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n")
    return head + "".join("\n\n" + declaration(one) for one in shapes.declared.values())


def operations_module(operations: list[Operation]) -> str:
    """The routes of the http door."""
    lines = [f'"""The operations of the http door.\n\n{WARNING}"""\n', "# Name: method, path, and the type of the answer, where that is JSON.",
             "OPERATIONS: dict[str, tuple[str, str, str | None]] = {"]
    for one in operations:
        result = None if one.result is None else expression(one.result)
        lines.append(f'    "{one.name}": ("{one.method}", "{one.path}", {quoted(result) if result else None}),')
    return "\n".join([*lines, "}"]) + "\n"


def synchronous(source: str) -> str:
    """The same module for those who do not await."""
    for pattern, replacement in SYNCHRONOUS:
        source = re.sub(pattern, replacement, source)
    return source.replace('"""', '"""Made by clients/generate.py from `asynchronous.py`. Do not edit.\n\n', 1)


def declaration(one: Object | Alias) -> str:
    if isinstance(one, Alias):
        about = f"# {' '.join(one.about.split())}\n" if one.about else ""
        return f"{about}{one.name}: TypeAlias = {quoted(expression(one.type))}\n"
    about = " ".join(one.about.split()).replace("\\", "\\\\") or "An object."
    if any(keyword.iskeyword(field.name) or not field.name.isidentifier() for field in one.fields):
        fields = ", ".join(f"{quoted(field.name)}: {quoted(wrapped(field))}" for field in one.fields)
        return f"# {about}\n{one.name} = TypedDict({quoted(one.name)}, {{{fields}}})\n"
    lines = [f"class {one.name}(TypedDict):", f'    """{about}"""', ""]
    for field in one.fields:
        if field.about:
            lines.append(f"    # {' '.join(field.about.split())}")
        lines.append(f"    {field.name}: {wrapped(field)}")
    return "\n".join(lines).rstrip() + "\n"


def wrapped(field) -> str:
    return expression(field.type) if field.required else f"NotRequired[{expression(field.type)}]"


def expression(type_: Type) -> str:
    inner = [expression(one) for one in type_.of]
    match type_.kind:
        case "plain":
            return PLAIN[type_.name]
        case "any":
            return "Any"
        case "literal":
            return f"Literal[{quoted(type_.value) if isinstance(type_.value, str) else type_.value}]"
        case "name":
            return type_.name
        case "array":
            return f"list[{inner[0]}]"
        case "map":
            return f"dict[str, {inner[0]}]"
        case "tuple":
            # On the wire it is an array; a tuple would promise what `json` does not make.
            return f"list[{' | '.join(dict.fromkeys(inner))}]"
        case "union":
            return " | ".join(inner)
    raise ValueError(type_.kind)


def quoted(text: str) -> str:
    return "'" + text + "'" if '"' in text else '"' + text + '"'
