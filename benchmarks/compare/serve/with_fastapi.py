"""The usual tokenizer service: FastAPI, pydantic, uvicorn and `tokenizers`, as gateways write it.

The fields and the JSON are those of vLLM's /tokenize. The call is inside the coroutine: a thread
for each request makes both sizes slower (results of 2026-11-18).
"""

from __future__ import annotations

import os

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from tokenizers import Tokenizer

app = FastAPI()
tokenizer = Tokenizer.from_file(os.environ["TOKENIZER"])


class TokenizeRequest(BaseModel):
    """A prompt."""

    model: str | None = None
    prompt: str
    add_special_tokens: bool = True
    return_token_strs: bool | None = False


class TokenizeResponse(BaseModel):
    """Its ids."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


@app.post("/tokenize")  # type: ignore[untyped-decorator]
async def tokenize(request: TokenizeRequest) -> JSONResponse:
    """Answer like vLLM."""
    found = tokenizer.encode(request.prompt, add_special_tokens=request.add_special_tokens)
    strings = found.tokens if request.return_token_strs else None
    answer = TokenizeResponse(
        count=len(found.ids), max_model_len=-1, tokens=found.ids, token_strs=strings
    )
    return JSONResponse(content=answer.model_dump())


@app.get("/readyz")  # type: ignore[untyped-decorator]
async def ready() -> dict[str, bool]:
    """Answer that it is there."""
    return {"ready": True}
