import pytest
from audioloom_yarn_launcher.yarn.localization import systems_of


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["file:///x", "webhdfs://nn:9870/x", "hdfs:///x", "/hdfs/x", ""], []),
        (["hdfs://nn/loom", "hdfs://nn/other"], ["hdfs://nn"]),
        (["--to=hdfs://b:8020/x", "run"], ["hdfs://b:8020"]),
        (["--inputs=hdfs://b/x,hdfs://c/y"], ["hdfs://b", "hdfs://c"]),
        (['{"a": "hdfs://b"}', "STORE=hdfs://d/x"], ["hdfs://b", "hdfs://d"]),
        (["sh", "-c", "cat <(hdfs dfs -cat hdfs://b/x) 'hdfs://c'"], ["hdfs://b", "hdfs://c"]),
    ],
)
def test_what_is_named_anywhere_is_found(texts: list[str], named: list[str]) -> None:
    """In a location, an option, a list, JSON, a line of shell; each once."""
    assert tuple(named) == systems_of([], texts)


def test_what_is_given_comes_with_what_is_found() -> None:
    """In one order, whoever named it."""
    assert ("hdfs://a", "hdfs://b") == systems_of(["hdfs://b/"], ["hdfs://a/x", "hdfs://b/y"])
