"""Errors -> answers, in the shape of OpenAI's API as vLLM fills it in."""

from __future__ import annotations

import json
import math
from http import HTTPStatus

from tokenmill._errors import (
    DeadlineExceeded,
    MissingDependency,
    ModelNotReady,
    Overloaded,
    ServiceClosed,
    TextTooLong,
    TokenmillError,
    UnknownModel,
    compose,
)
from tokenmill._serve.messages import HttpAnswer, written_before

_TYPES = {  # as vLLM names them; the others are the phrases of their status
    HTTPStatus.BAD_REQUEST: "BadRequestError",
    HTTPStatus.NOT_FOUND: "NotFoundError",
    HTTPStatus.NOT_IMPLEMENTED: "NotImplementedError",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalServerError",
}
_LEAST_RETRY = 1  # Retry-After counts whole seconds
_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (  # the first that fits
    (DeadlineExceeded, HTTPStatus.GATEWAY_TIMEOUT),
    (TextTooLong, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (MissingDependency, HTTPStatus.NOT_IMPLEMENTED),
    (NotImplementedError, HTTPStatus.NOT_IMPLEMENTED),
    (TokenmillError, HTTPStatus.BAD_REQUEST),
)
_RETRY_SOON = b"retry-after: 1\r\n"


class RefusedRequest(Exception):  # noqa: N818 -- as the errors of the package
    """A request that cannot be answered: a status, a message, and the member that is wrong."""

    def __init__(self, status: HTTPStatus, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param


def error_answer(
    status: HTTPStatus, message: str, param: str | None = None, headers: bytes = b""
) -> HttpAnswer:
    """Return an error as `{"error": {"message", "type", "param", "code"}}`."""
    kind = _TYPES.get(status, status.phrase)
    info = {"message": message, "type": kind, "param": param, "code": status.value}
    return HttpAnswer(status.value, json.dumps({"error": info}).encode(), headers=headers)


def answer_of(error: Exception) -> HttpAnswer | None:
    """Return the answer to a request that ended with this error; None for a bug of ours."""
    if isinstance(error, RefusedRequest):
        return error_answer(error.status, str(error), error.param)
    if isinstance(error, UnknownModel):
        message = f"The model `{error.model}` does not exist."
        return error_answer(HTTPStatus.NOT_FOUND, message, "model")
    if isinstance(error, Overloaded):
        after = b"retry-after: %d\r\n" % max(_LEAST_RETRY, math.ceil(error.retry_after))
        return error_answer(HTTPStatus.SERVICE_UNAVAILABLE, _text_of(error), headers=after)
    if isinstance(error, (ModelNotReady, ServiceClosed)):
        unavailable = HTTPStatus.SERVICE_UNAVAILABLE
        return error_answer(unavailable, _text_of(error), headers=_RETRY_SOON)
    for kinds, status in _STATUSES:
        if isinstance(error, kinds):
            return error_answer(status, _text_of(error))
    return None


def no_room(reason: str) -> HttpAnswer:
    """Return the answer to a request over a limit; `reason` is the name of the limit."""
    message = f"no room for another request ({reason})"
    answer = error_answer(HTTPStatus.SERVICE_UNAVAILABLE, message, headers=_RETRY_SOON)
    return written_before(answer)


def _text_of(error: Exception) -> str:
    """Return the message without its hint, which is for calls in Python."""
    if isinstance(error, TokenmillError):
        return compose(error.where, error.problem, "")
    return str(error)
