"""Shapes as TypeScript."""

from __future__ import annotations

import json

from generator.documents import Operation
from generator.shapes import Alias, Object, Shapes, Type

HEAD = "// Made by clients/generate.py from the daemon's own documents. Do not edit.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def module(shapes: Shapes) -> str:
    """All declarations of a document."""
    return HEAD + "".join("\n" + declaration(one) for one in shapes.declared.values())


def operations_module(operations: list[Operation]) -> str:
    """The routes of the http door, and the types of what goes in and out."""
    lines = [HEAD, "import type * as http from './http.js';\n", "/** Every operation of the http door. */",
             "export const operations = {"]
    lines += [f"  {one.name}: {{ method: '{one.method}', path: '{one.path}' }}," for one in operations]
    lines += ["} as const;\n", "/** The name of an operation. */", "export type OperationName = keyof typeof operations;"]
    for title, text, kind in (("Results", "What each answers with, where that is JSON.", "result"),
                              ("Bodies", "The body that each takes, where that is JSON.", "body"),
                              ("Queries", "What each can be asked with.", "query")):
        lines += ["", f"/** {text} */", f"export interface {title} {{"]
        for one in operations:
            type_ = getattr(one, kind)
            if type_ is not None:
                lines.append(f"  {one.name}: {expression(type_, 'http.')};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def declaration(one: Object | Alias) -> str:
    head = comment(one.about, "")
    if isinstance(one, Alias):
        return f"{head}export type {one.name} = {expression(one.type)};\n"
    fields = "".join(
        f"{comment(field.about, '  ')}  {key(field.name)}{'' if field.required else '?'}: {expression(field.type)};\n"
        for field in one.fields
    )
    return f"{head}export interface {one.name} {{\n{fields}}}\n"


def expression(type_: Type, prefix: str = "") -> str:
    inner = [expression(one, prefix) for one in type_.of]
    match type_.kind:
        case "plain":
            return PLAIN[type_.name]
        case "any":
            return "unknown"
        case "literal":
            return json.dumps(type_.value) if not isinstance(type_.value, str) else "'" + type_.value + "'"
        case "name":
            return prefix + type_.name
        case "array":
            return f"Array<{inner[0]}>"
        case "map":
            return f"{{ [key: string]: {inner[0]} }}"
        case "tuple":
            return f"[{', '.join(inner)}]"
        case "union":
            return " | ".join(inner)
    raise ValueError(type_.kind)


def key(name: str) -> str:
    return name if name.isidentifier() else f"'{name}'"


def comment(text: str, indent: str) -> str:
    if not text:
        return ""
    return f"{indent}/** {' '.join(text.split())} */\n".replace("*/ ", "* / ")
