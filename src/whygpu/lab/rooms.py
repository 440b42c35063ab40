"""The lab's application: the door, and beside it what the pages need."""

from starlette.routing import Route, WebSocketRoute

from whygpu.lab.app import door_app
from whygpu.lab.bodies import answered
from whygpu.lab.frames import FrameRequest
from whygpu.lab.guard import Guard
from whygpu.lab.openapi import Operation
from whygpu.lab.options import Address
from whygpu.lab.state import Lab
from whygpu.lab.views import choice, data, draw, pages, think

__all__ = ["OPERATIONS", "lab_app"]

OPERATIONS = (
    Operation("get", "/api/models", "Which models can be loaded, and which is."),
    Operation("post", "/api/models", "Load another; answers in progress end first.", choice.ModelRequest),
    Operation("post", "/api/draw", "One frame of a scene as a picture.", FrameRequest, "image/jpeg"),
    Operation("get", "/api/scenes", "Which scenes can be drawn."),
    Operation("post", "/api/scenes", "Bring a scene: the file as the body, its name in ?name=."),
    Operation("post", "/api/predict", "What any machine would do with a model.", data.PredictRequest),
    Operation("post", "/api/roofline", "This machine's roofs, kept or measured now.", data.RoofRequest),
    Operation("get", "/api/runs", "The run in progress, and past runs."),
    Operation("post", "/api/runs", "Run an experiment here.", data.RunRequest),
    Operation("post", "/api/runs/cancel", "End the run in progress."),
    Operation("post", "/api/runs/forget", "Remove a past run.", data.ForgetRequest),
    Operation("get", "/api/claims", "The article's figures and their verdicts."),
    Operation("get", "/api/timeline", "From CUDA on, with sources."),
    Operation("post", "/api/exhibits/{name}", "An exhibit as HTML.", data.RaceRequest, "text/html"),
    Operation("get", "/api/facts", "The machine, the model, what can be chosen."),
)


def lab_app(lab: Lab, address: Address) -> Guard:
    """Every route of the lab behind the guard."""
    more = [
        Route("/", pages.index),
        Route("/plotly.js", pages.plotly),
        Route("/favicon.ico", pages.icon),
        Route("/static/{name}", answered(pages.static)),
        Route("/words/{lang}", answered(pages.words)),
        Route("/api/facts", answered(data.facts)),
        Route("/api/models", answered(choice.models)),
        Route("/api/models", answered(choice.choose), methods=["POST"]),
        Route("/api/draw", answered(draw.draw_still), methods=["POST"]),
        Route("/api/scenes", answered(draw.listed)),
        Route("/api/scenes", answered(draw.upload), methods=["POST"]),
        Route("/api/predict", answered(data.predicted), methods=["POST"]),
        Route("/api/roofline", answered(data.roofline), methods=["POST"]),
        Route("/api/runs", answered(data.runs)),
        Route("/api/runs", answered(data.start), methods=["POST"]),
        Route("/api/runs/cancel", answered(data.cancel), methods=["POST"]),
        Route("/api/runs/forget", answered(data.forget), methods=["POST"]),
        Route("/api/claims", answered(data.claims)),
        Route("/api/timeline", answered(data.timeline)),
        Route("/api/exhibits/{name}", answered(data.exhibit), methods=["POST"]),
        WebSocketRoute("/ws/draw", draw.draw_socket),
        WebSocketRoute("/ws/think", think.think_socket),
        WebSocketRoute("/ws/live", data.live),
    ]
    return door_app(
        lab.host,
        key=address.key,
        hosts=address.hosts,
        more=more,
        pages=pages.is_page,
        operations=OPERATIONS,
        state={"lab": lab},
        closing=lab.close,
    )
