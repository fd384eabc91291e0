"""The daemon's documents: what they define, and which operations the http door has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.shapes import Shapes, Type, camel

HERE = Path(__file__).resolve().parent.parent


@dataclass
class Operation:
    """One route and method of the http door."""

    name: str
    method: str
    path: str
    # Absent where the answer is a stream or a file.
    result: Type | None
    body: Type | None
    query: Type | None


@dataclass
class Documents:
    """Everything that types are made of."""

    http: Shapes
    operations: list[Operation]
    gateway: Shapes
    jsonl: Shapes


def read(docs: Path) -> Documents:
    """Reads the documents in a folder laid out as `docs/` is."""
    openapi = load(docs / "openapi.json")
    events = load(HERE / "events.schema.json")
    http = Shapes({**openapi["components"]["schemas"], **events["$defs"]}).declare_all()
    http.declare("SessionEvent", {"description": events["description"].split(".")[0] + ".", "anyOf": events["anyOf"]})
    return Documents(
        http=http,
        operations=operations(openapi, http),
        gateway=Shapes(load(docs / "protocols" / "gateway.schema.json")["$defs"]).declare_all(),
        jsonl=Shapes(load(docs / "protocols" / "jsonl.schema.json")["$defs"]).declare_all(),
    )


def operations(openapi: dict[str, Any], http: Shapes) -> list[Operation]:
    found = []
    for path, methods in openapi["paths"].items():
        for method, described in methods.items():
            name = described["operationId"]
            success = next(answer for status, answer in described["responses"].items() if status.startswith("2"))
            found.append(Operation(
                name=name,
                method=method.upper(),
                path=path,
                result=json_type(success, http, camel(name) + "Result"),
                body=json_type(described.get("requestBody", {}), http, camel(name) + "Body"),
                query=query_type(name, described.get("parameters", []), http),
            ))
    return found


def json_type(described: dict[str, Any], http: Shapes, hint: str) -> Type | None:
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else http.type_of(schema, hint)


def query_type(name: str, parameters: list[dict[str, Any]], http: Shapes) -> Type | None:
    asked = [one for one in parameters if one["in"] == "query"]
    if not asked:
        return None
    properties = {one["name"]: {**one["schema"], "description": one.get("description", "")} for one in asked}
    required = [one["name"] for one in asked if one.get("required")]
    schema = {"properties": properties, "required": required, "description": f"What `{name}` can be asked with."}
    return http.type_of(schema, camel(name) + "Query")


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
