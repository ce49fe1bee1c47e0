"""Ports that are held for the server of another process."""

import socket


def hold() -> socket.socket:
    """Bind a socket to a free port on all addresses, to hold the port for another process.

    The socket never listens, so it accepts no connection. It allows reuse, so a server of this user
    that asks for reuse too (TF_GRPC_REUSE_PORT=true) can bind the port, and no other user can.
    Close it when that server has ended.
    """
    try:
        both = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return _bound(both)
    except OSError:  # this machine has no IPv6
        return _bound(socket.socket(socket.AF_INET, socket.SOCK_STREAM))


def free() -> int:
    """Find a free port, for a server that cannot bind a held one."""
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
    """Return `host:port` of a held port, as in TF_CONFIG."""
    port = held.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
