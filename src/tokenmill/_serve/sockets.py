"""Where a server listens: TCP or a Unix socket, with TLS or without."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._errors import OptionError, TokenmillError
from tokenmill._platform.processes import raise_file_limit

if TYPE_CHECKING:
    from tokenmill._serve.options import ServeOptions

BACKLOG = 4096
_OWN_FILES = 128  # of a worker, besides its connections


def listen(options: ServeOptions) -> list[socket.socket]:
    """Open the sockets of a server; the workers share them."""
    if options.unix_socket is not None:
        return [_listen_unix(Path(options.unix_socket))]
    where = f"{options.host}:{options.port}"
    try:
        found = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return [_listen_tcp(family, address) for family, *_, address in dict.fromkeys(found)]
    except OSError as error:
        hint = "choose another port with --port, or stop the program that uses this one"
        raise TokenmillError(f"cannot listen: {error.strerror}", where=where, hint=hint) from error


def _listen_tcp(family: int, address: tuple[object, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except BaseException:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def _listen_unix(path: Path) -> socket.socket:
    _remove_left_over(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise TokenmillError(f"cannot listen: {error.strerror}", where=str(path)) from error
    listening.setblocking(False)
    return listening


def _remove_left_over(path: Path) -> None:
    """Remove the socket of a server that is gone; one that answers stays."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise TokenmillError("cannot listen: another server is listening there", where=str(path))


def room_for(connections: int) -> int:
    """Let the process open a file for each connection; return how many it can have."""
    return min(connections, raise_file_limit(connections + _OWN_FILES) - _OWN_FILES)


def close(options: ServeOptions, sockets: list[socket.socket]) -> None:
    """Close the sockets, and remove the file of a Unix socket."""
    for listening in sockets:
        listening.close()
    if options.unix_socket is not None:
        with suppress(FileNotFoundError):
            Path(options.unix_socket).unlink()


def address_of(options: ServeOptions, sockets: list[socket.socket]) -> str:
    """Return the address as people write it."""
    if options.unix_socket is not None:
        return f"unix:{options.unix_socket}"
    scheme = "http" if options.certificate is None else "https"
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"{scheme}://{host}:{sockets[0].getsockname()[1]}"


def tls_of(options: ServeOptions) -> ssl.SSLContext | None:
    """Return the context of a certificate and its key; None without one."""
    if options.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.certificate, options.private_key)
    except (OSError, ssl.SSLError) as error:
        problem = f"cannot be used: {error.strerror or error}"
        raise OptionError(problem, where=options.certificate) from error
    return context
