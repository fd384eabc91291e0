"""JSON Schema as a small set of shapes that every typed language has. Knows no target language.

It takes the part of JSON Schema that the daemon's documents use, and refuses the rest: a keyword that
was silently passed over would be a type that is silently wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# What narrows a value, but changes no type.
IGNORED = {"description", "default", "format", "minimum", "maximum", "minItems", "maxItems", "pattern", "minLength",
           "maxLength", "title", "contentMediaType", "x-suffix"}
PLAIN = {"string", "integer", "number", "boolean", "null"}
# The members that tell the variants of a union apart.
TAGS = ("type", "event", "method", "role", "kind")


@dataclass(frozen=True)
class Type:
    """A use of a type. `kind` is plain, any, literal, name, array, map, tuple or union."""

    kind: str
    name: str = ""
    value: Any = None
    of: tuple["Type", ...] = ()


@dataclass
class Field:
    """A member of an object."""

    name: str
    type: Type
    required: bool
    about: str


@dataclass
class Object:
    """A declared object."""

    name: str
    about: str
    fields: list[Field]


@dataclass
class Alias:
    """A declared name of another type."""

    name: str
    about: str
    type: Type


ANY = Type("any")
NULL = Type("plain", name="null")


@dataclass
class Shapes:
    """The declarations made from one document. `schemas` are its definitions by name."""

    schemas: dict[str, Any]
    declared: dict[str, Object | Alias] = field(default_factory=dict)

    def declare_all(self) -> Shapes:
        for name, schema in self.schemas.items():
            self.declare(name, schema)
        return self

    def declare(self, name: str, schema: dict[str, Any]) -> None:
        """Declares a schema under a name."""
        type_ = self.type_of(schema, name)
        if type_ != Type("name", name=name):
            self._add(Alias(name, about(schema), type_))

    def type_of(self, schema: Any, hint: str) -> Type:
        """The type of a schema; objects within it are declared under names that begin with the hint."""
        if schema is True or not set(schema) - IGNORED:
            return ANY
        if "oneOf" in schema or "anyOf" in schema:
            return self._union(schema, hint)
        if "properties" in schema:
            return self._object(schema, hint)
        if "$ref" in schema:
            return Type("name", name=schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return Type("literal", value=schema["const"])
        if "enum" in schema:
            return union([Type("literal", value=value) for value in schema["enum"]])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return union([self.type_of({**schema, "type": kind}, hint) for kind in kinds])
        if kinds in PLAIN:
            known(schema, {"type", "items", "additionalProperties"})
            return Type("plain", name=kinds)
        if kinds == "array":
            known(schema, {"type", "items", "prefixItems"})
            if "prefixItems" in schema:
                return Type("tuple", of=tuple(self.type_of(item, hint) for item in schema["prefixItems"]))
            return Type("array", of=(self.type_of(schema.get("items", True), hint + "Item"),))
        if kinds == "object":
            known(schema, {"type", "additionalProperties"})
            return Type("map", of=(self.type_of(schema.get("additionalProperties", True), hint + "Value"),))
        raise ValueError(f"{hint}: no type can be made of {schema}")

    def _union(self, schema: dict[str, Any], hint: str) -> Type:
        known(schema, {"type", "oneOf", "anyOf", "properties", "required", "$ref"})
        suffix = schema.get("x-suffix", hint)
        shared = {key: schema[key] for key in ("properties", "required") if key in schema}
        variants = []
        for variant in schema.get("oneOf") or schema["anyOf"]:
            tagged = label(variant)
            if shared:
                variant = merged(shared, variant)
            variants.append(self.type_of(variant, tagged + suffix if tagged else hint))
        return union(variants)

    def _object(self, schema: dict[str, Any], hint: str) -> Type:
        known(schema, {"type", "properties", "required", "additionalProperties", "$ref"})
        if "$ref" in schema:
            schema = merged(self.schemas[schema["$ref"].rsplit("/", 1)[1]], schema)
        name, number = hint, 2
        while name in self.declared:
            name, number = f"{hint}{number}", number + 1
        declaration = Object(name, about(schema), [])
        self._add(declaration)
        required = set(schema.get("required", []))
        for key, value in schema["properties"].items():
            type_ = self.type_of(value, name + camel(key))
            declaration.fields.append(Field(key, type_, key in required, about(value)))
        return Type("name", name=name)

    def _add(self, declaration: Object | Alias) -> None:
        if declaration.name in self.declared:
            raise ValueError(f"two types are called {declaration.name}")
        self.declared[declaration.name] = declaration


def union(types: list[Type]) -> Type:
    """One of several types, each of which is named once."""
    flat: list[Type] = []
    for type_ in types:
        for one in type_.of if type_.kind == "union" else (type_,):
            if one not in flat:
                flat.append(one)
    # What may be anything may also be each of the others.
    if ANY in flat:
        return ANY
    return flat[0] if len(flat) == 1 else Type("union", of=tuple(flat))


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Two objects as one."""
    both = {key: value for key, value in {**base, **more}.items() if key not in ("$ref", "x-suffix")}
    both["properties"] = {**base.get("properties", {}), **more.get("properties", {})}
    both["required"] = [*base.get("required", []), *more.get("required", [])]
    return both


def label(variant: dict[str, Any]) -> str:
    """What tells a variant of a union from the others, as the beginning of a name."""
    if "title" in variant:
        return camel(variant["title"])
    for tag in TAGS:
        value = variant.get("properties", {}).get(tag)
        if isinstance(value, dict) and "const" in value:
            return camel(value["const"])
    # Where nothing was meant to tell it apart, what it must have does.
    return camel(variant["required"][0]) if variant.get("required") and "properties" in variant else ""


def camel(words: str) -> str:
    """`turn_started` and `chat.delta` as `TurnStarted` and `ChatDelta`."""
    pieces = words.replace(".", "_").replace("-", "_").split("_")
    return "".join(piece[:1].upper() + piece[1:] for piece in pieces)


def about(schema: Any) -> str:
    return schema.get("description", "") if isinstance(schema, dict) else ""


def known(schema: dict[str, Any], keywords: set[str]) -> None:
    unknown = set(schema) - keywords - IGNORED
    if unknown:
        raise ValueError(f"the generator does not know what to do with {sorted(unknown)} in {schema}")
