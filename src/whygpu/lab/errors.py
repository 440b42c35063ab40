"""What can go wrong at the door, each with its HTTP status."""

from whygpu.engine import UserError

__all__ = ["Busy", "Gone", "Refused", "TooLarge", "Unknown"]


class Refused(UserError):
    """Not with this request: 400 unless ``status`` says otherwise. ``param``: which part of it."""

    status = 400
    kind = "invalid_request_error"

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.code = param, code


class Unknown(Refused):
    """There is no such thing."""

    status = 404


class TooLarge(Refused):
    """More than the limits allow."""

    status = 413


class Busy(Refused):
    """Not now."""

    status = 429
    kind = "rate_limit_error"


class Gone(Refused):
    """Not any more: the program ends."""

    status = 503
    kind = "server_error"
