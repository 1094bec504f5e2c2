"""Errors -> answers, in the shape of OpenAI's API as vLLM fills it in."""

from __future__ import annotations

import json
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
from tokenmill._serve.messages import Answer

_TYPES = {  # as vLLM names them; the others are the phrases of their status
    HTTPStatus.BAD_REQUEST: "BadRequestError",
    HTTPStatus.NOT_FOUND: "NotFoundError",
    HTTPStatus.NOT_IMPLEMENTED: "NotImplementedError",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalServerError",
}
_LEAST_RETRY = 1  # Retry-After counts whole seconds
_RETRY_SOON = b"retry-after: 1\r\n"


class RequestFault(Exception):
    """A request that cannot be answered: a status, a message, and the member that is wrong."""

    def __init__(self, status: HTTPStatus, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param


def error_answer(
    status: HTTPStatus, message: str, param: str | None = None, headers: bytes = b""
) -> Answer:
    """Return an error as `{"error": {"message", "type", "param", "code"}}`."""
    kind = _TYPES.get(status, status.phrase)
    info = {"message": message, "type": kind, "param": param, "code": status.value}
    return Answer(status.value, json.dumps({"error": info}).encode(), headers=headers)


def answer_of(error: Exception) -> Answer | None:
    """Return the answer to a request that ended with this error; None for a bug of ours."""
    if isinstance(error, RequestFault):
        return error_answer(error.status, str(error), error.param)
    if isinstance(error, Overloaded):
        seconds = max(_LEAST_RETRY, round(error.retry_after))
        after = b"retry-after: %d\r\n" % seconds
        return error_answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error), headers=after)
    if isinstance(error, (ModelNotReady, ServiceClosed)):
        message = compose(error.where, error.problem, "")  # hints are for calls in Python
        return error_answer(HTTPStatus.SERVICE_UNAVAILABLE, message, headers=_RETRY_SOON)
    if isinstance(error, UnknownModel):
        message = f"The model `{error.model}` does not exist."
        return error_answer(HTTPStatus.NOT_FOUND, message, "model")
    if isinstance(error, DeadlineExceeded):
        return error_answer(HTTPStatus.GATEWAY_TIMEOUT, str(error))
    if isinstance(error, TextTooLong):
        return error_answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
    if isinstance(error, (MissingDependency, NotImplementedError)):
        return error_answer(HTTPStatus.NOT_IMPLEMENTED, str(error))
    if isinstance(error, TokenmillError):
        return error_answer(HTTPStatus.BAD_REQUEST, str(error))
    return None
