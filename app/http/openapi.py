"""``GET /openapi.json``: the routes, described by the models that they read and answer with."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.routing import BaseRoute

from app.http.answers import Fault
from app.http.operation import JSON, DocumentedRoute
from app.threads.limits import MAX_DEDUPE

_PARAMETER: Final = re.compile(r"{(\w+)(?::\w+)?}")
_REFERENCES: Final = "#/components/schemas/{model}"

Model: TypeAlias = tuple[type[Any], JsonSchemaMode]
Schemas: TypeAlias = Mapping[Model, dict[str, Any]]


def openapi_document(routes: Sequence[BaseRoute], version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of those routes that say what they do."""
    documented = [each for each in routes if isinstance(each, DocumentedRoute)]
    schemas, definitions = models_json_schema(
        sorted(_models(documented), key=lambda each: (each[0].__name__, each[1])),
        by_alias=True,
        ref_template=_REFERENCES,
    )
    paths: dict[str, dict[str, Any]] = {}
    for route in documented:
        path = _PARAMETER.sub(lambda found: f"{{{to_camel(found[1])}}}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ropewalk",
            "version": version,
            "description": "A realtime chat backend for durable AI agents.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _models(routes: Sequence[DocumentedRoute]) -> set[Model]:
    found: set[Model] = {(Fault, "serialization")}
    for route in routes:
        if route.operation.body is not None:
            found.add((route.operation.body, "validation"))
        if route.operation.answer is not None:
            found.add((route.operation.answer, "serialization"))
    return found


def _operation(route: DocumentedRoute, schemas: Schemas) -> dict[str, Any]:
    operation = route.operation
    answer = {} if operation.answer is None else schemas[operation.answer, "serialization"]
    content = {"content": {operation.media_type: {"schema": answer}}}
    if operation.status == HTTPStatus.NO_CONTENT:
        content = {}
    described: dict[str, Any] = {
        "operationId": _identifier(route),
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": {
            str(operation.status): {"description": "It went well.", **content},
            "default": {
                "description": "What went wrong; the code has its own status.",
                "content": {JSON: {"schema": schemas[Fault, "serialization"]}},
            },
        },
        # A token may be left out: then the caller is nobody.
        "security": [{"token": []}, {}] if operation.asks_who else [{}],
    }
    if operation.body is not None:
        described["requestBody"] = {
            "content": {JSON: {"schema": schemas[operation.body, "validation"]}},
            "required": any(each.is_required() for each in operation.body.model_fields.values()),
        }
    return described


def _identifier(route: DocumentedRoute) -> str:
    words = re.split(r"\W+", _PARAMETER.sub(lambda found: f"by {found[1]}", route.path))
    return to_camel("_".join([route.method.lower(), *(word for word in words if word)]))


def _parameters(route: DocumentedRoute) -> list[dict[str, Any]]:
    found = [
        _parameter("path", to_camel(match[1]), {"type": "string"}, required=True)
        for match in _PARAMETER.finditer(route.path)
    ]
    found += [
        {**_parameter("query", each.name, each.schema()), "description": each.meaning}
        for each in route.operation.query
    ]
    if route.method == "POST" and route.operation.asks_who:
        key = {"type": "string", "minLength": 1, "maxLength": MAX_DEDUPE}
        meaning = "The same request under the same key takes effect once."
        found.append({**_parameter("header", "Idempotency-Key", key), "description": meaning})
    return found


def _parameter(
    place: Literal["path", "query", "header"],
    name: str,
    schema: dict[str, Any],
    *,
    required: bool = False,
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": schema}
