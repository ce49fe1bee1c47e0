"""What is masked wherever it is shown, and what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from audioloom_stage import redaction
from audioloom_stage.redaction import (
    MASK,
    is_secret_name,
    redact,
    redact_values,
    redact_words,
    remember,
)
from hypothesis import given
from hypothesis import strategies as st

SECRET = "hunter2"  # noqa: S105
PIECES = [
    "--password", "--token", "-p", "TOKEN=a", "x://u:p@h", "-Dsecret=b", MASK, "password='", "=",
    "Bearer", "https://h/?sig=", "&key=", '"auth":', "[", "]", "authorization: ", "env:HOME",
    "Basic dTpw", "eyJhbGciOi.eyJzdWIi.x", "jdbc:oracle:thin:a/", "@", "\\", "hf_", "cookie:",
    "-u", "--user=a:b", "a:b", "b'", "--Zq", "<name>secret</name><value>", "Basic dXNlcjpwYXNz",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(), st.lists(st.one_of(st.text(max_size=5), st.sampled_from(PIECES))).map("".join)
)
COMMANDS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(PIECES)), max_size=6)


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test told of as a secret is none in the next."""
    monkeypatch.setattr(redaction, "known_secrets", set())


@pytest.mark.parametrize(
    "text",
    [
        "--password=hunter2",
        "--password hunter2",
        "--hf_token=hunter2",
        "--auth hunter2",
        "--token hunter2 more",
        "mysql -p hunter2 -u me",
        "HF_TOKEN=hunter2",
        "hfToken=hunter2",
        "hf-token: hunter2",
        "--apiKey=hunter2",
        "AWS_SECRET_ACCESS_KEY=hunter2",
        "AccountKey=hunter2==;EndpointSuffix=x",
        "-Dfs.s3a.secret.key=hunter2",
        "--conf spark.ssl.keyPassword=hunter2",
        "--opt=token=hunter2",
        "password = 'hun ter hunter2'",
        'password="hunter2',
        "secrets=[hunter2, hunter2]",
        "postgres://me:hunter2@db/x",
        "https://hunter2@host/path",
        "jdbc:mysql://db/x;user=me;password=hunter2",
        "jdbc:oracle:thin:scott/hunter2@//db:1521/x",
        "https://h/x?a=b&token=hunter2&c=d",
        "https://h/x?sv=2024&sig=hunter2%3D",
        "s3://b/k?X-Amz-Credential=hunter2%2F2026&X-Amz-Signature=hunter2",
        "https://h/x?X-Amz-Security-Token=hunter2",
        "https://h/x?X-Goog-Signature=hunter2&key=hunter2",
        "sv=1&sig=hunter2",
        "Bearer hunter2",
        "got: bearer hunter2.",
        "Authorization: Bearer hunter2",
        "authorization: basic hunter2 hunter2",
        "Basic aHVudGVyMg==hunter2",
        "Cookie: session=hunter2",
        "curl -H 'X-Auth-Token: hunter2' host",
        '{"user": "me", "password": "hunter2"}',
        '{"password": "a\\"hunter2"}',
        '"{\\"api_key\\": \\"hunter2\\"}"',
        "{'nested': {'token': 'hunter2'}}",
        "sh -c 'x --password=hunter2 && y'",
        "a\nb password=hunter2\nc",
        "ftp://hunter2@host/path",
        "curl -u user:hunter2 https://host",
        "curl --user 'user:hunter2 hunter2' https://host",
        "--user=bob:hunter2",
        "--proxy-user bob:hunter2:hunter2",
        "keytool --storepass hunter2",
        "keytool -deststorepass hunter2 -keypass hunter2",
        "HF_TOKENS=hunter2",
        "token2=hunter2",
        "github_token_3=hunter2",
        "creds=hunter2",
        "AES_KEY=hunter2",
        "SSH_KEY=hunter2",
        "masterKey=hunter2",
        "master_keys=[hunter2, hunter2]",
        "JWT=hunter2",
        "--bearer hunter2",
        "session_cookie=hunter2",
        "X-Amz-Signature=hunter2",
        "{'token': b'hunter2'}",
        "token=rb'hunter2",
        "<name>fs.s3a.secret.key</name>\n  <value>hunter2</value>",
        "--password --Hunter2hunter2",
    ],
)
def test_a_secret_that_says_that_it_is_one_is_masked(text: str) -> None:
    """By a name, an address, a parameter or a header; also where it is a word of a command."""
    for shown in (redact(text), *redact_words([text])):
        assert SECRET not in shown
        assert MASK in shown


@pytest.mark.parametrize(
    "token",
    [
        "hf_" + "aB3" * 11,
        "ghp_" + "aB3" * 12,
        "github_pat_" + "aB3_" * 8,
        "glpat-" + "aB3-" * 5,
        "AKIA" + "ABCD" * 4,
        "xoxb-1234567890-abc",
        "sk-" + "aB3" * 10,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_token_of_a_known_kind_is_masked_wherever_it_stands(token: str) -> None:
    """Under any name."""
    assert f"x={MASK}, y" == redact(f"x={token}, y")
    assert {"x": [MASK]} == redact_values({"x": [token]})


@pytest.mark.parametrize(
    "text",
    [
        "audioloom-trainer run hdfs://nn:8020/loom/shards/1f0e --epochs=20",
        "--tokenizer=bert --max-tokens 5 --token-count=3",
        "token_count=3 key=C pad_token=<pad> blank_token=_ token_mixer=mlp",
        "--key user_id --keys=a,b --pass-through yes --compass=north --author=me --passes=3",
        "low_pass=300Hz high-pass=8kHz signature=serving_default",
        "hadoop.security.authentication=kerberos hadoop.security.authorization=true",
        "https://host:8080/path?user=me&page=2 user@host:path a:b@c hdfs://me@nn/x",
        "password=3 token=12 yes=40",
        "pad_token_id=0 token=7 use_auth=off password=null",
        "-p 8080:80 mkdir -p /data/x -p ./y",
        "--password",
        "--password --verbose",
        "set DB_PASSWORD or --jdbc-password-file. Neither --token nor --auth is needed",
        "--jdbc-password-file /run/secrets/db secret_name=db",
        "hf_token=env:HF_TOKEN",
        "unexpected token: ']' at line 3",
        "basic statistics, Basic usage, the bearer of news, Bearer token",
        "labels: secret password token",
        "s3://bucket/key=C/x?list",
        "docker run -u 1000:1000 --user=0:0 python -u train.py -u https://h/x",
        "tokens=chars max_tokens=all n_tokens=[1, 2] stop_tokens=<eos> special_tokens=<a>",
        "ssh_key_path=/x keys=a,b monkey=b bypass=x aes_key_size=256 cookie_domain=x",
        "<name>fs.defaultFS</name><value>hdfs://nn</value>",
        "(--password --verbose) --password -- x",
        "ein Wörterbuch für 日本語 \u202e",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    """Ports, counts of labels, tokens of a text, sentences about flags, references."""
    assert text == redact(text)


@pytest.mark.parametrize(
    "command",
    [
        ["audioloom-trainer", "run", "hdfs://nn/loom/shards/1f0e", "--epochs=20"],
        ["--tokenizer=bert", "--max-tokens", "5", "--token-count=3", "--token", "3"],
        ["--key", "user_id", "--keys=a,b", "--pass-through", "yes", "--compass=north"],
        ["-p", "8080:80", "-p", "/data/x"],
        ["--password"],
        ["--password", "--verbose", "-p", "-v"],
        ["--author=me", "--passes=3", "--password-file", "/run/secrets/db"],
        ["--model-arg", "hf_token=env:HF_TOKEN"],
        ["docker", "run", "-u", "1000:1000", "--user=0:0", "-u", "https://h/x"],
    ],
    ids=" ".join,
)
def test_a_command_without_a_secret_is_shown(command: list[str]) -> None:
    """Word for word."""
    assert tuple(command) == redact_words(command)


@pytest.mark.parametrize(
    "command",
    [
        ["--password", "-hunter2"],
        ["--password", "hunter2 with, more"],
        ["--password=hunter2 with, more&"],
        ["DB_PASSWORD=a b,hunter2"],
        ["-p", "hunter2"],
        ["--auth", "hunter2"],
        ["--password", "1234567"],
        ["--model-arg", "hf_token=hunter2"],
        ["--password", "--Hunter-hunter2"],
        ["curl", "-u", "user:hunter2 more"],
        ["--user=user:hunter2 more"],
        ["--storepass", "hunter2"],
    ],
    ids=" ".join,
)
def test_a_word_that_is_a_secret_is_masked_whole(command: list[str]) -> None:
    """Of a word it is known where it ends."""
    shown = " ".join(redact_words(command))
    assert MASK in shown
    assert not any(each in shown.lower() for each in ("hunter", "more", "1234567"))


def test_a_login_without_its_header_is_masked() -> None:
    """Whether the Base64 of user and password holds a digit or not; words do not decode to one."""
    assert f"Basic {MASK}, basic {MASK}" == redact("Basic dXNlcjpwYXNz, basic QWxhZGRpbjpvcGVu")
    assert "Basic statistics, basic knowledge" == redact("Basic statistics, basic knowledge")


def test_bytes_in_a_text_keep_their_form() -> None:
    """As Python shows them."""
    assert f"{{'token': b'{MASK}', 'x': b'y'}}" == redact("{'token': b'hunter2', 'x': b'y'}")


def test_values_below_a_name_of_secrets_are_masked() -> None:
    """At any depth; numbers stay, because a label may be called so."""
    given = {
        "user": "me",
        "auth": {"name": "hunter2", "count": 3},
        "command": ["x", "--token", "hunter2"],
        "labels": {"password": 3, "token": 1.5},
        "hf_token": "env:HF_TOKEN",
        "password": None,
        "found": {"url": "http://me:hunter2@h/"},
    }
    shown = redact_values(given)
    assert SECRET not in json.dumps(shown)
    assert {"name": MASK, "count": 3} == shown["auth"]
    same = ("user", "labels", "hf_token", "password")
    assert [given[each] for each in same] == [shown[each] for each in same]


def test_what_is_no_json_is_masked_below_a_name_of_secrets() -> None:
    """Bytes, paths, whatever can be shown; elsewhere the text that stands for it is."""
    given = {"password": b"hunter2", "auth": {"a": {b"hunter2"}}, "path": Path("/x"), "token": None}
    shown = {"password": MASK, "auth": {"a": [MASK]}, "path": repr(Path("/x")), "token": None}
    assert shown == redact_values(given)


@pytest.mark.parametrize(
    "form", [str, repr, json.dumps, quote, lambda text: " ".join(text.split())]
)
def test_a_known_secret_is_masked_in_any_form(form: Callable[[str], str]) -> None:
    """As Python, JSON and addresses write it, and with its blanks joined."""
    secret = "p\"w/\\d'1  2\n3"  # noqa: S105
    remember(secret)
    assert MASK == redact(form(secret)).strip("\"'")


def test_a_known_secret_is_masked_without_its_line_end() -> None:
    """It came from a file; what is used of it does not have it."""
    remember(" swordfish\n")
    assert f"login as me/{MASK} failed" == redact("login as me/swordfish failed")


def test_a_value_that_is_known_for_a_secret_is_masked_anywhere() -> None:
    """In the message of another program; one of three letters would be found in any text."""
    remember("swordfish")
    remember("abc")
    assert f"login as me/{MASK} failed: abc" == redact("login as me/swordfish failed: abc")


@pytest.mark.parametrize("word", ["token", "secret", "password", "passwd", "credential", "api_key"])
@pytest.mark.parametrize("form", ["{}", "my_{}", "my-{}", "my.{}"])
def test_names_of_secrets_are_known_in_any_spelling(form: str, word: str) -> None:
    """Snake, kebab, dotted, in capitals."""
    name = form.format(word)
    found = [is_secret_name(each) for each in (name, name.upper(), name.title(), f"--{name}")]
    assert [True] * 4 == found


@given(TEXTS)
def test_any_text_masks_to_itself(text: str) -> None:
    """Once masked, nothing more is taken away."""
    assert redact(text) == redact(redact(text))


@given(COMMANDS)
def test_a_command_that_was_masked_masks_to_itself(command: list[str]) -> None:
    """So a record may be read, shown and compared without a second thought."""
    shown = redact_words(command)
    assert shown == redact_words(shown)
    assert len(command) == len(shown)


@given(st.text(st.characters(categories=["L", "N", "Zs"])))
def test_a_text_of_words_stays(text: str) -> None:
    """Of any language: without a sign there is no secret, but after the word "bearer"."""
    if not any(each in text.lower() for each in ("bearer", "basic")):
        assert text == redact(text)


@pytest.mark.parametrize(
    "piece",
    ["a", "a=", "password=", "password='", "token=[ ", "x://", "-p ", "eyJ", "\\", "a:?", ": ",
     "-u a", "--user='a:", "<name>secret</name>", "<name> ", "token=b'", "--token --Z",
     "Basic aaaaaa",
     "basic a", "-----BEGIN PRIVATE KEY-----", "jdbc:a:a:a/", "authorization:", '"', "bearer ",
     "éeyJaaaaaa"],
)  # fmt: skip
def test_no_text_takes_long(piece: str) -> None:
    """Texts come from outside: a hundred thousand characters of any kind are read in their time."""
    text = piece * (100_000 // len(piece))
    assert redact(text) == redact(redact(text))


def test_a_text_with_ever_fewer_backslashes_does_not_take_long() -> None:
    """No quote of it is closed again, and a long secret after it is still found."""
    text = "".join("a_password=" + "\\" * n + "'" for n in range(500, 1, -1))
    secret = "k" * 100_000
    assert f'{text} password=\\"{MASK}\\"' == redact(f'{text} password=\\"{secret}\\"')
