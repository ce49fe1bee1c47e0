import pytest
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.yarn.application_spec import docker_variables
from pydantic import ValidationError


@pytest.mark.parametrize(
    "given",
    [
        {"docker_mount": ["/data:/data"]},
        {"docker_network": "host"},
        {"docker_image": "tf:2", "docker_mount": ["data:/data"]},
        {"docker_image": "tf:2", "docker_mount": ["/data:/data:rwx"]},
        {"docker_image": "tf:2", "docker_mount": ["/data:/data,/etc:/etc"]},
        {"docker_image": "tf:2,other"},
    ],
)
def test_what_a_node_would_take_for_something_else_is_refused(given: dict[str, object]) -> None:
    """A comma would begin another mount."""
    with pytest.raises(ValidationError, match=r"docker-|should match"):
        RunSettings.model_validate({"command": ["x"], "root": "/r", **given})


def test_without_an_image_nothing_is_said() -> None:
    """The node starts a process."""
    assert {} == docker_variables(None, (), None)


def test_flags_become_the_variables_of_the_container() -> None:
    """A mount is read-only where it does not say otherwise."""
    assert {
        "YARN_CONTAINER_RUNTIME_TYPE": "docker",
        "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "repo/tf:2",
        "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS": "/a:/b:ro,/c:/d:rw",
        "YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK": "host",
    } == docker_variables("repo/tf:2", ("/a:/b", "/c:/d:rw"), "host")
