import pytest
from audioloom_storage import Unavailable, locate
from audioloom_storage.hdfs.errors import translated

SAID = (
    'DataTransferError("All DataNodes failed: [DatanodeInfoProto { id: DatanodeIdProto {'
    ' ip_addr: \\"127.0.0.1\\", host_name: \\"node-1\\", datanode_uuid: \\"u\\", xfer_port: 42399,'
    " info_port: 1 }, capacity: Some(2) }, DatanodeInfoProto { id: DatanodeIdProto {"
    ' ip_addr: \\"127.0.0.1\\", host_name: \\"node-2\\", datanode_uuid: \\"v\\", xfer_port: 41999,'
    ' info_port: 1 }, capacity: Some(2) }]")'
)


@pytest.mark.parametrize("configured", [True, False])
def test_datanodes_that_cannot_be_reached_are_named(
    monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    """By name and address, and where a client without configuration would have to look."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    if configured:
        monkeypatch.setenv("HADOOP_CONF_DIR", "/conf")
    error = translated(RuntimeError(SAID), locate("hdfs://h:1/a"))
    assert isinstance(error, Unavailable)
    nodes = "node-1:42399 (127.0.0.1), node-2:41999 (127.0.0.1)"
    assert f"no DataNode that has it answered: {nodes}" == error.found
    assert configured != ("HADOOP_CONF_DIR is not set" in (error.hint or ""))
