"""``/openapi.json``, made from the models that check the requests, and a plain page of it."""

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from whygpu import __version__
from whygpu.lab.door.schema import ChatRequest, CompletionRequest, EmbeddingRequest

__all__ = ["Operation", "document", "openapi_routes"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a program can ask for."""

    method: str
    path: str
    summary: str
    takes: type[BaseModel] | None = None
    """The JSON of the request."""
    gives: str = "application/json"
    key: bool = True


DOOR = (
    Operation("get", "/healthz", "Whether it is there, and how busy.", key=False),
    Operation("get", "/v1/models", "The models that answer."),
    Operation("get", "/v1/models/{name}", "One model."),
    Operation("post", "/v1/completions", "Continue a text.", CompletionRequest),
    Operation("post", "/v1/chat/completions", "Answer a conversation.", ChatRequest),
    Operation("post", "/v1/embeddings", "Texts as vectors of length 1.", EmbeddingRequest),
)


def document(operations: tuple[Operation, ...]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these operations."""
    kinds: list[tuple[type[BaseModel], Any]] = [
        (each.takes, "validation") for each in operations if each.takes
    ]
    _, schemas = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        names = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
        entry: dict[str, Any] = {
            "summary": each.summary,
            "responses": {
                "200": {"description": each.summary, "content": {each.gives: {}}},
                "default": {"description": "What is wrong, in one line: error.message."},
            },
        }
        if names:
            entry["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
            ]
        if each.takes is not None:
            reference = {"$ref": f"#/components/schemas/{each.takes.__name__}"}
            entry["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference}}}
        if not each.key:
            entry["security"] = []
        paths.setdefault(each.path, {})[each.method] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "whygpu", "version": __version__, "summary": "One engine that draws and thinks."},
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def openapi_routes(more: tuple[Operation, ...] = ()) -> list[BaseRoute]:
    """``/openapi.json`` and ``/docs``; neither needs the key: they say nothing of this machine."""
    whole = document((*DOOR, *more))

    async def as_json(request: Request) -> Response:
        return JSONResponse(whole)

    async def as_page(request: Request) -> Response:
        return HTMLResponse(page(whole))

    return [Route("/openapi.json", as_json), Route("/docs", as_page)]


STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.88em }
section { border-top: 1px solid #8884; padding: 1rem 0; overflow-x: auto }
h2 { font-size: 1.05rem; margin: 0.2rem 0 }
b { text-transform: uppercase; font-size: 0.8em; margin-right: 0.6em; color: #b84e00 }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem }
td, th { text-align: left; vertical-align: top; padding: 0.25rem 0.8rem 0.25rem 0 }
td { border-top: 1px solid #8883 }
@media (prefers-color-scheme: dark) { body { background: #121318; color: #ebecf0 } b { color: #f39a4b } }
"""


def page(whole: dict[str, Any]) -> str:
    """The document for people: no script, nothing from elsewhere."""
    schemas = whole["components"]["schemas"]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>whygpu: the door</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>whygpu {escape(whole['info']['version'])}</h1>"
        "<p>Send the key that was printed: <code>Authorization: Bearer KEY</code>. "
        'The same as data: <a href="/openapi.json">/openapi.json</a>.</p>'
    ]
    for path, methods in whole["paths"].items():
        for method, entry in methods.items():
            parts.append(
                f"<section><h2><b>{method}</b><code>{escape(path)}</code></h2><p>{escape(entry['summary'])}</p>"
            )
            body = entry.get("requestBody")
            if body:
                name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                parts.append(_table(schemas[name]))
            parts.append("</section>")
    return "".join([*parts, "</body></html>\n"])


def _table(schema: dict[str, Any]) -> str:
    rows = []
    for name, field in schema.get("properties", {}).items():
        kind = json.dumps(
            {key: value for key, value in field.items() if key not in ("title", "description", "default")}
        )
        needed = (
            "required"
            if name in schema.get("required", ())
            else f"default {json.dumps(field.get('default'))}"
        )
        rows.append(
            f"<tr><td><code>{escape(name)}</code><td>{escape(needed)}<td><code>{escape(kind)}</code>"
            f"<td>{escape(field.get('description', ''))}"
        )
    return f"<table><tr><th>field<th><th>type<th>what{''.join(rows)}</table>"
