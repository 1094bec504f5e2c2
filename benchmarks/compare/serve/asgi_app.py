"""Our /tokenize as a bare ASGI application, for uvicorn and granian: what a server costs by itself.

`/const` answers a constant. No framework, no validation beyond ours.
"""

from __future__ import annotations

import os
from typing import Any

from tokenmill import Tokenizer
from tokenmill._core import read_tokenize, write_answer

tokenizer = Tokenizer.load(os.environ["TOKENIZER"])
CONSTANT = b'{"ok":true}'


def answer_to(path: str, body: bytes) -> bytes:
    """Return the body of an answer."""
    if path != "/tokenize":
        return CONSTANT
    ids = tokenizer.encode(read_tokenize(body).prompt, add_special_tokens=True)  # type: ignore[arg-type]
    begin = b'{"count":%d,"max_model_len":-1,"tokens":' % len(ids)
    return write_answer(begin, ids, b',"token_strs":null}')


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer one request."""
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    answer = answer_to(scope["path"], body)
    length = (b"content-length", b"%d" % len(answer))
    headers = [(b"content-type", b"application/json"), length]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
