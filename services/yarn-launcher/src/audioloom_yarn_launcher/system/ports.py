"""Ports that are held for the server of another process."""

import socket


def hold() -> socket.socket:
    """A bound socket on a free port, on all addresses.

    It never listens, so no connection ever comes here; and it allows reuse, so a server of the
    same user that asks for reuse too (TF_GRPC_REUSE_PORT=true) binds the same port while this one
    keeps everybody else away. Close it when that server has ended.
    """
    try:
        both = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return _bound(both)
    except OSError:  # no IPv6 here
        return _bound(socket.socket(socket.AF_INET, socket.SOCK_STREAM))


def free() -> int:
    """A port that is free now, for a server that could not bind one which is held."""
    with hold() as held:
        return int(held.getsockname()[1])


def _bound(unbound: socket.socket) -> socket.socket:
    try:
        unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        unbound.bind(("", 0))
    except OSError:
        unbound.close()
        raise
    return unbound


def address(host: str, held: socket.socket) -> str:
    """`host:port` of a held port, as TF_CONFIG has it."""
    port = held.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
