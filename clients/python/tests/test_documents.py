"""That the types are those of the daemon's documents."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from daemon import REPOSITORY
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ostler_client import AsyncClient, Client
from ostler_client.operations import OPERATIONS

OPENAPI = json.loads((REPOSITORY / "docs" / "openapi.json").read_text())
EVENTS = json.loads((REPOSITORY / "clients" / "events.schema.json").read_text())
TEXT = (REPOSITORY / "docs" / "events.md").read_text()
# A name in a heading that stands before the commands is that of an event or a delta.
DESCRIBED = re.findall(r"^### `(\w+)`$", TEXT.split("\n## Commands")[0], re.MULTILINE)
EXAMPLES = [json.loads(line) for line in re.findall(r"^```json\n(\{.*\})\n```$", TEXT, re.MULTILINE)]
SCHEMA = json.loads(
    json.dumps({**EVENTS, "$defs": {**OPENAPI["components"]["schemas"], **EVENTS["$defs"]}}).replace(
        "#/components/schemas/", "#/$defs/"
    )
)


def variants() -> dict[str, Any]:
    both = [*EVENTS["$defs"]["EventRecord"]["oneOf"], *EVENTS["$defs"]["EventDelta"]["oneOf"]]
    return {one["properties"]["type"]["const"]: one["properties"]["data"] for one in both}


def test_the_generated_files_are_up_to_date() -> None:
    command = [sys.executable, str(REPOSITORY / "clients" / "generate.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_schema_of_events_has_those_that_are_described() -> None:
    assert sorted(variants()) == sorted(DESCRIBED)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["type"])
def test_the_examples_of_events_are_what_the_schema_says(example: dict[str, Any]) -> None:
    Draft202012Validator(SCHEMA).validate(example)
    data = variants()[example["type"]]
    assert set(example["data"]) <= set(data.get("properties", {})), "the schema lacks a field"


def test_every_event_has_an_example() -> None:
    assert {example["type"] for example in EXAMPLES} == set(variants())


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_every_operation_is_a_method_with_the_type_of_its_answer(client: type) -> None:
    source = inspect.getsource(client)
    for name, (_, _, result) in OPERATIONS.items():
        assert f'request("{name}"' in source, f"{client.__name__} has no method for {name}"
        if result and result.isidentifier():
            assert re.search(rf'cast\(types\.{result}, .*request\("{name}"', source), f"{name} answers {result}"
    for name, method in inspect.getmembers(client, inspect.isfunction):
        found = re.search(r"cast\((types\.\w+),", inspect.getsource(method))
        if not name.startswith("_") and found:
            assert method.__annotations__["return"] == found[1], name
