import socket

import pytest
from audioloom_yarn_launcher.system.addresses import (
    NoAddress,
    check_address,
    own_address,
    own_addresses,
)


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "ten/8", "fd00::/8"])
def test_what_is_no_network_is_refused(text: str) -> None:
    """Also an address with a length, of which nobody knows what is meant."""
    with pytest.raises(ValueError, match=r"expected a network such as 10\.0\.0\.0/8"):
        check_address(text)


def test_a_machine_without_an_address_there_says_which_it_has() -> None:
    """240.0.0.0/4 is in use nowhere."""
    with pytest.raises(NoAddress, match=r"has no address in 240\.0\.0\.0/4, only .*127\.0\.0\.1"):
        own_address("240.0.0.0/4")


def test_the_address_in_a_network_is_found() -> None:
    """Each is one that a server here can listen on."""
    assert "127.0.0.1" == own_address("127.0.0.0/8")
    for address in own_addresses():
        assert address == own_address(f"{address}/32")
        with socket.socket() as server:
            server.bind((address, 0))


def test_a_name_is_no_network() -> None:
    """It is taken as it stands."""
    for text in ("{node}", "10.0.0.1"):
        assert text == own_address(text) == check_address(text)
    assert "10.0.0.0/8" == check_address("10.0.0.0/8")
