"""Write the conformance cases: `python generate.py [FOLDER]`, with no code of the reader in it.

Each case is a folder: `case.json` (clauses of SPEC.md, request, expected answer) and `input/`.
Data files hold a few letters, since no reader of a manifest looks into them. Where a manifest is
refused before anything else is read, nothing else is there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DERIVED = {"events", "keras", "report", "saved-model"}
OTHER = "sha256:" + "0" * 64
COMPLETE, MINIMAL = "complete", "minimal"


def sha256(data: bytes) -> str:
    """In hex."""
    return hashlib.sha256(data).hexdigest()


def crc32c(data: bytes) -> str:
    """CRC-32C (RFC 3720) in hex, bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return f"{value ^ 0xFFFFFFFF:08x}"


def canonical(value: Any) -> bytes:
    """As clause 2.5 says, for the plain numbers that are used here."""
    return json.dumps(
        plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    ).encode()


def plain(value: Any) -> Any:
    """Take the fraction of whole numbers away."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pretty(value: Any) -> bytes:
    """For people."""
    return (json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass
class Run:
    """A run folder: its manifest, the entries of its files list, and its data files."""

    manifest: Json
    entries: list[Json] = field(default_factory=list)
    data: dict[str, bytes] = field(default_factory=dict)
    list_bytes: bytes | None = None
    """The files list, where it is not that of the entries."""
    text: Callable[[str], str | bytes] = lambda text: text
    """What becomes of the manifest's text at the end."""

    def copy(self) -> Run:
        """Another one."""
        return deepcopy(self)

    def add(self, path: str, data: bytes, role: str, **fields: Any) -> None:
        """A data file and its entry."""
        self.data[path] = data
        self.entries.append(
            {"path": path, "bytes": len(data), "sha256": sha256(data), "role": role, **fields}
        )

    def seal(self) -> None:
        """State the files list and the identity of what the manifest says."""
        entries = sorted(self.entries, key=lambda entry: str(entry["path"]).encode())
        if self.list_bytes is None:
            self.list_bytes = b"".join(canonical(each) + b"\n" for each in entries)
        listed = self.list_bytes
        digest = sha256(listed)
        self.manifest["files"] = {
            "name": f"files-{digest[:12]}.jsonl",
            "sha256": digest,
            "bytes": len(listed),
            "count": listed.count(b"\n"),
        }
        self.identify()

    def identify(self) -> None:
        """State the identity of what the manifest says."""
        listed = self.list_bytes or b""
        if self.manifest["kind"] == "training-run":
            lines = listed.split(b"\n")[:-1]
            listed = b"".join(
                line + b"\n" for line in lines if json.loads(line)["role"] not in DERIVED
            )
        basis = {
            "kind": self.manifest["kind"],
            "recipe": self.manifest["recipe"],
            "inputs": [each["identity"] for each in self.manifest["inputs"]],
            "files": sha256(listed),
            "stats": sha256(canonical(self.manifest["stats"])),
        }
        self.manifest["identity"] = "sha256:" + sha256(canonical(basis))

    def write(self, folder: Path) -> None:
        """Write it all."""
        folder.mkdir(parents=True)
        text = self.text(pretty(self.manifest).decode())
        (folder / "manifest.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        if self.list_bytes is not None and "files" in self.manifest:
            (folder / self.manifest["files"]["name"]).write_bytes(self.list_bytes)
        for path, data in self.data.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


# --- good runs ----------------------------------------------------------------------------------


def envelope(kind: str, name: str, stage: str) -> Json:
    """What all kinds share, with as little in it as may be."""
    return {
        "kind": kind,
        "version": "1.0",
        "name": name,
        "created": "2026-01-31T12:05:00Z",
        "producer": {"stage": stage, "version": "1.0.0"},
        "inputs": [],
        "execution": {
            "attempt": "5f0c1d9e6b1f4a0c8f2b7f6f1c1f0a11",
            "started": "2026-01-31T12:00:00Z",
            "finished": "2026-01-31T12:05:00Z",
            "host": "",
            "versions": {},
            "settings": {},
            "counts": {},
        },
    }


def an_input(kind: str, location: str, letter: str = "c") -> Json:
    """A manifest that was read."""
    return {
        "kind": kind,
        "name": location.rpartition("/")[2],
        "location": location,
        "identity": "sha256:" + letter * 64,
        "sha256": "d" * 64,
    }


def told(run: Run, **counts: int) -> None:
    """Say how the run was made."""
    run.manifest["execution"] |= {
        "host": "node-7",
        "versions": {"python": "3.11.7"},
        "settings": {"master": "local[2]"},
        "counts": counts,
    }


def recordings(extent: str) -> Run:
    """An inventory."""
    run = Run(envelope("recordings", "calls-2026", "featurizer"))
    run.manifest |= {
        "recipe": {
            "algorithm": 1,
            "source": "file:///archive/calls",
            "suffixes": [],
            "pattern": None,
            "listing_sha256": "a" * 64,
            "labels_sha256": None,
            "unlabelled": "keep",
        },
        "stats": {
            "recordings": 3,
            "bytes": 960132,
            "labelled": 0,
            "grouped": 0,
            "dropped": 0,
            "labels": {},
        },
    }
    if extent == COMPLETE:
        told(run)
        run.manifest["inputs"] = [an_input("recordings", "recordings/calls-2025")]
        run.manifest["recipe"] |= {
            "source": "hdfs://namenode:8020/archive/calls",
            "suffixes": [".flac", ".wav"],
            "pattern": "(?P<label>[^/]+)/(?P<group>[^-]+)-.*",
            "labels_sha256": "b" * 64,
            "unlabelled": "drop",
        }
        run.manifest["stats"] |= {
            "labelled": 3,
            "grouped": 3,
            "dropped": 1,
            "labels": {"en": 2, "fr": 1},
        }
    run.add("inventory-0123456789ab.parquet", b"inventory", "inventory", records=3)
    return run


def features(extent: str) -> Run:
    """Features and a ledger."""
    run = Run(envelope("features", "0f3c2a9d1b4e5f60", "featurizer"))
    run.manifest |= {
        "inputs": [an_input("recordings", "recordings/calls-2026")],
        "recipe": {
            "algorithm": 1,
            "feature": {
                "name": "mfcc",
                "dtype": "float32",
                "shape": [2, 3],
                "sample_rate": 16000,
                "parameters": {},
            },
            "engine": "numpy",
            "windows": "first",
            "channels": "mix",
            "headerless": None,
            "unit_bytes": 268435456,
            "unit_recordings": 1000,
        },
        "stats": {
            "recordings": 3,
            "extracted": 3,
            "refused": 0,
            "flagged": 0,
            "windows": 3,
            "audio_seconds": 30.0,
            "refusals": {},
            "labels": {},
        },
    }
    run.add("features/0-0123456789ab.parquet", b"features", "features", records=3)
    if extent == COMPLETE:
        told(run, units_placed=12, units_local=11)
        run.manifest["recipe"]["feature"]["parameters"] = {
            "n_fft": 2048,
            "hop_length": 512,
            "n_mels": 128,
            "top_db": 80.0,
            "level": "window",
            "window_seconds": 0.125,
            "hop_seconds": 0.125,
            "normalise": "window",
        }
        run.manifest["recipe"] |= {
            "windows": "all",
            "channels": "split",
            "headerless": {"coding": "mulaw", "sample_rate": 8000, "channels": 2},
        }
        run.manifest["stats"] |= {
            "extracted": 2,
            "refused": 1,
            "flagged": 1,
            "windows": 4,
            "audio_seconds": 20.25,
            "refusals": {"empty": 1},
            "labels": {"en": 3, "fr": 1},
        }
        run.entries[0]["records"] = 4
        run.add("ledger/0-0123456789ab.parquet", b"ledger", "ledger", records=1)
    return run


def shards(extent: str) -> Run:
    """Shards of two splits."""
    run = Run(envelope("shards", "7d21c0ffee123456", "sharder"))
    run.manifest |= {
        "inputs": [an_input("features", "features/0f3c2a9d1b4e5f60")],
        "recipe": {
            "algorithm": 1,
            "seed": 0,
            "lanes": 1,
            "shards": 1,
            "shard_bytes": None,
            "splits": {"all": 1.0},
            "ungrouped": "refuse",
            "labels": None,
            "target": "label",
            "compression": "none",
            "format": "tfrecord",
            "only_labels": None,
            "without_flags": [],
            "min_seconds": 0.0,
            "class_weights": None,
            "resample": "none",
            "stratify": False,
            "split_pattern": None,
            "split_table_sha256": None,
            "unassigned": "refuse",
        },
        "stats": {
            "feature": {"name": "mfcc", "dtype": "float32", "shape": [2, 3]},
            "labels": [],
            "splits": {"all": split(4, 1, 1, {})},
            "excluded": {},
            "class_weights": None,
            "resampling": None,
        },
    }
    if extent == MINIMAL:
        run.add("all/0.tfrecord", b"shard", "shard", records=4, split="all", shard=0)
        run.add("all/0.idx.npy", b"index", "index", records=4, split="all", shard=0)
        return run
    told(run, units_placed=12, units_local=11)
    run.manifest["inputs"].append(an_input("features", "hdfs://nn:8020/loom/features/b", "e"))
    run.manifest["recipe"] |= {
        "lanes": 2,
        "shards": 2,
        "splits": {"train": 0.75, "val": 0.25},
        "labels": ["en", "fr"],
        "compression": "gzip",
        "only_labels": ["en", "fr"],
        "without_flags": ["silent"],
        "min_seconds": 0.5,
        "class_weights": "balanced",
        "resample": "under",
    }
    run.manifest["stats"] |= {
        "labels": ["en", "fr"],
        "splits": {
            "train": split(4, 2, 2, {"en": 2, "fr": 2}),
            "val": split(1, 1, 1, {"fr": 1}, coefficients=False),
        },
        "excluded": {"another label": 3, "flag silent": 1, "resampled": 1, "too short": 0},
        "class_weights": {"en": 1.0, "fr": 1.0},
        "resampling": {
            "en": {"copies": 0, "one_more_below": "fa6f5f0c1d9e6b1f4a0c8f2b7f6f1c1f"},
            "fr": {"copies": 1, "one_more_below": "0" * 32},
        },
    }
    for name, number, labels in (
        ("train", 0, {"en": 1, "fr": 1}),
        ("train", 1, {"en": 1, "fr": 1}),
        ("val", 0, {"fr": 1}),
    ):
        where = {"records": sum(labels.values()), "split": name, "shard": number}
        shard = f"shard {name} {number}".encode()
        run.add(
            f"{name}/{number}.tfrecord.gz",
            shard,
            "shard",
            **where,
            labels=labels,
            uncompressed={"bytes": 2 * len(shard), "sha256": "f" * 64},
        )
        run.add(f"{name}/{number}.idx.npy", b"index", "index", **where)
    run.add("splits-0123456789ab.npy", b"splits", "splits", records=5)
    return run


def split(
    records: int, shards: int, lanes: int, labels: dict[str, int], *, coefficients: bool = True
) -> Json:
    """The statistics of a split."""
    return {
        "records": records,
        "shards": shards,
        "lanes": lanes,
        "bytes": 200 * records,
        "recordings": records,
        "groups": records,
        "labels": labels,
        "coefficients": {"mean": [-0.5, 0.0125], "variance": [2.25, 0.875]}
        if coefficients
        else None,
        "targets": None,
    }


def training_run(extent: str) -> Run:
    """A trained model."""
    run = Run(envelope("training-run", "first", "trainer"))
    run.manifest |= {
        "inputs": [an_input("shards", "shards/7d21c0ffee123456")],
        "recipe": {
            "algorithm": 1,
            "model": {
                "function": "builtin:conv1d",
                "sha256": None,
                "revision": 1,
                "arguments": {},
            },
            "epochs": 1,
            "batch_size": 4,
            "seed": 0,
            "shuffle_window": 1,
            "deterministic": True,
            "callbacks": None,
            "keras": "3",
        },
        "stats": {"steps": 1, "records": 4, "replicas": 1, "parameters": 15, "scores": {}},
    }
    run.add("model/weights-0123456789ab", b"weights", "weights")
    if extent == COMPLETE:
        told(run)
        run.manifest["recipe"] |= {
            "model": {
                "function": "model.py:build",
                "sha256": "a" * 64,
                "revision": None,
                "arguments": {"bias": True, "dropout": 0.25, "name": "wide", "units": 64},
            },
            "epochs": 20,
            "callbacks": {
                "function": "stop.py:early",
                "sha256": "e" * 64,
                "revision": None,
                "arguments": {"patience": 5},
            },
            "keras": "legacy",
        }
        run.manifest["stats"] |= {
            "steps": 11,
            "records": 44,
            "replicas": 2,
            "scores": {"val": {"accuracy": 0.875, "chance": 0.5, "loss": 0.25, "majority": 1.0}},
        }
        for role in ("evaluation", "history", "model"):
            run.add(f"model/{role}-0123456789ab", role.encode(), role)
        run.add("model/keras-0123456789ab", b"keras", "keras")
        run.add("report-0123456789ab.html", b"report", "report")
        run.add("logs/tensorboard/train/events.out.tfevents.1", b"events", "events")
        run.add("model/saved-model-0123456789ab/saved_model.pb", b"model", "saved-model")
    return run


KINDS: dict[str, Callable[[str], Run]] = {
    "recordings": recordings,
    "features": features,
    "shards": shards,
    "training-run": training_run,
}

# --- cases --------------------------------------------------------------------------------------


@dataclass
class Case:
    """One case: what is asked, and what a reader has to answer."""

    name: str
    clauses: tuple[str, ...]
    about: str
    run: Run | None = None
    expected: Json = field(default_factory=dict)
    request: Json = field(default_factory=lambda: {"do": "read"})
    value: bytes = b""

    def write(self, folder: Path) -> None:
        """Write the folder of the case."""
        target = folder / self.name
        if self.run is None:
            (target / "input").mkdir(parents=True)
            (target / "input" / "value.json").write_bytes(self.value)
        else:
            self.run.write(target / "input")
        case = {
            "about": self.about,
            "clauses": list(self.clauses),
            "request": self.request,
            "expected": self.expected,
        }
        (target / "case.json").write_bytes(pretty(case))


CASES: list[Case] = []


def good(
    name: str,
    clauses: str,
    about: str,
    run: Run,
    *,
    reads: Run | None = None,
    **request: str,
) -> None:
    """A run that is read; as *reads* where a reader passes over some of it."""
    run.seal()
    whole = reads or run
    if reads is not None:
        reads.manifest |= {key: run.manifest[key] for key in ("files", "identity", "version")}
    files = sorted(whole.entries, key=lambda entry: entry["path"].encode())
    expected = {"manifest": whole.manifest, "files": files}
    CASES.append(
        Case(name, tuple(clauses.split()), about, run, expected, {"do": "read", **request})
    )


def bad(name: str, clauses: str, about: str, error: str, run: Run, **request: str) -> None:
    """A run that is refused."""
    asked = {"do": "read", **request}
    if error not in ("WrongChecksum", "MissingFile") and run.manifest:
        run.data = {}
        if error != "WrongIdentity" and not clauses.startswith("5"):
            run.list_bytes = None
    CASES.append(Case(name, tuple(clauses.split()), about, run, {"error": error}, asked))


def changed(
    kind: str,
    change: Callable[[Json], object] = lambda _: None,
    *,
    extent: str = COMPLETE,
    after: Callable[[Json], object] | None = None,
    text: Callable[[str], str | bytes] | None = None,
) -> Run:
    """A run whose manifest was changed before it got its identity, or *after*, or as a *text*."""
    run = KINDS[kind](extent)
    change(run.manifest)
    run.seal()
    if after:
        after(run.manifest)
    if text:
        run.text = text
    return run


def digest(name: str, about: str, value: str | bytes, written: str | None) -> None:
    """A JSON value, and the bytes that its digest is of; None if it is refused."""
    expected = (
        {"error": "MalformedManifest"} if written is None else {"sha256": sha256(written.encode())}
    )
    data = value if isinstance(value, bytes) else value.encode()
    clauses = ("2.5",) if written is not None else ("2.4",)
    CASES.append(Case(name, clauses, about, None, expected, {"do": "digest"}, data))


def put(path: str, value: Any) -> Callable[[Json], object]:
    """Set a field, named by a path with points."""

    def change(manifest: Json) -> None:
        *above, last = path.split(".")
        place: Any = manifest
        for key in above:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value

    return change


def drop(path: str) -> Callable[[Json], object]:
    """Take a field away."""

    def change(manifest: Json) -> None:
        *above, last = path.split(".")
        for key in above:
            manifest = manifest[key]
        del manifest[last]

    return change


MALFORMED = "MalformedManifest"


def each_kind() -> None:
    """What is checked of every kind."""
    for kind, make in KINDS.items():
        good(f"{kind}-complete", "3.6", f"every field of a {kind} manifest", make(COMPLETE))
        good(f"{kind}-minimal", "3.6", f"a {kind} manifest with little in it", make(MINIMAL))
        bad(f"{kind}-major-2", "3.4", "another major version", "UnsupportedVersion",
            changed(kind, put("version", "2.0")))  # fmt: skip
        bad(f"{kind}-unknown-field", "3.6", "a field that version 1.0 does not have", MALFORMED,
            changed(kind, put("colour", "red")))  # fmt: skip
        bad(f"{kind}-unknown-recipe-field", "3.6", "the same in the recipe", MALFORMED,
            changed(kind, put("recipe.colour", "red")))  # fmt: skip
        bad(f"{kind}-unknown-stats-field", "3.6", "the same in the statistics", MALFORMED,
            changed(kind, put("stats.colour", "red")))  # fmt: skip
        for which in ("recipe", "stats"):
            for name in sorted(make(COMPLETE).manifest[which]):
                bad(f"{kind}-no-{which}-{name.replace('_', '-')}", "3.6", "a field is absent",
                    MALFORMED, changed(kind, drop(f"{which}.{name}")))  # fmt: skip
        bad(f"{kind}-other-recipe", "4.2", "the recipe was changed after the commit",
            "WrongIdentity", changed(kind, after=put("recipe.algorithm", 7)))  # fmt: skip
        bad(f"{kind}-other-stats", "4.2", "a statistic was changed after the commit",
            "WrongIdentity", changed(kind, after=other_stats(kind)))  # fmt: skip
        newer(kind)


def other_stats(kind: str) -> Callable[[Json], object]:
    """Change a count."""
    where = {"recordings": "bytes", "features": "flagged", "shards": "excluded.too short"}
    return put(f"stats.{where.get(kind, 'parameters')}", 77)


def newer(kind: str) -> None:
    """Later minor versions of a kind."""
    later = KINDS[kind](COMPLETE)
    later.manifest["version"] = "1.7"
    for place in ("", "recipe", "stats", "execution", "producer"):
        (later.manifest[place] if place else later.manifest)["later"] = {"a": [1, None]}
    for entry in later.entries:
        entry["later"] = True
    good(f"{kind}-newer-minor", "3.5 4.2", "unknown fields of a later minor version are passed over"
         " and count in the identity", later, reads=KINDS[kind](COMPLETE))  # fmt: skip
    forged = later.copy()
    forged.manifest["recipe"]["later"] = {"a": [2, None]}
    bad(f"{kind}-newer-minor-forged", "4.2", "an unknown field of the recipe was changed",
        "WrongIdentity", forged)  # fmt: skip
    forged = later.copy()
    forged.manifest["stats"]["later"] = {"a": [2, None]}
    bad(f"{kind}-newer-minor-forged-stats", "4.2", "an unknown statistic was changed",
        "WrongIdentity", forged)  # fmt: skip


def encodings() -> None:
    """The bytes of a manifest."""
    kind = "features"
    texts: list[tuple[str, str, str, str, Callable[[str], str | bytes]]] = [
        ("empty", "2.1", "an empty file", MALFORMED, lambda _: ""),
        ("truncated", "2.1", "a file that was cut short", MALFORMED, lambda t: t[:200]),
        ("trailing-text", "2.1", "text behind the object", MALFORMED, lambda t: t + "x"),
        ("byte-order-mark", "2.1", "UTF-8 with a byte order mark", MALFORMED,
         lambda t: b"\xef\xbb\xbf" + t.encode()),
        ("utf-16", "2.1", "UTF-16", MALFORMED, lambda t: t.encode("utf-16")),
        ("latin-1", "2.1", "a byte that is no UTF-8", MALFORMED,
         lambda t: t.encode().replace(b"node-7", b"node-\xe9")),
        ("lone-surrogate", "2.1", "half of a surrogate pair", MALFORMED,
         lambda t: t.replace("node-7", "\\ud800")),
        ("comment", "2.1", "a comment", MALFORMED, lambda t: "// manifest\n" + t),
        ("duplicate-key", "2.2", "a key twice in one object", MALFORMED,
         lambda t: t.replace('"engine": "numpy",', '"engine": "numpy", "engine": "numpy",')),
        ("duplicate-key-deep", "2.2", "a key twice, far inside", MALFORMED,
         lambda t: t.replace('"n_fft": 2048,', '"n_fft": 1024, "n_fft": 2048,')),
        ("nan", "2.3", "NaN", MALFORMED, lambda t: t.replace("20.25", "NaN")),
        ("infinity", "2.3", "Infinity", MALFORMED, lambda t: t.replace("20.25", "Infinity")),
        ("beyond-a-double", "2.3", "1e999", MALFORMED, lambda t: t.replace("20.25", "1e999")),
        ("beyond-64-bits", "2.3", "an integer of 65 bits", MALFORMED,
         lambda t: t.replace("268435456", "9223372036854775808")),
        ("thousands-of-digits", "2.3", "an integer of 5,000 digits", MALFORMED,
         lambda t: t.replace("268435456", "9" * 5000)),
        ("hexadecimal", "2.3", "a number that is not JSON's", MALFORMED,
         lambda t: t.replace("268435456", "0x10000000")),
        ("deep", "2.4", "65 arrays inside one another", MALFORMED,
         lambda t: t.replace('"settings": {', '"settings": {"a": ' + "[" * 65 + "]" * 65 + ", ")),
        ("very-deep", "2.4", "10,000 arrays inside one another", MALFORMED,
         lambda _: "[" * 10_000 + "]" * 10_000),
        ("array", "3.2", "an array", MALFORMED, lambda t: f"[{t}]"),
        ("null", "3.2", "null", MALFORMED, lambda _: "null"),
        ("no-object-of-ours", "3.2", "an object with other keys", MALFORMED, lambda _: '{"a": 1}'),
        ("no-kind", "3.2", "no kind", MALFORMED,
         lambda t: t.replace('  "kind": "features",\n', "")),
        ("no-version", "3.2", "no version", MALFORMED,
         lambda t: t.replace(',\n  "version": "1.0"', "")),
        ("unknown-kind-first", "3.3", "a kind of another major version: the kind is read first",
         "UnknownKind",
         lambda t: t.replace('"features",', '"videos",').replace('"1.0"\n', '"9.0"\n')),
    ]  # fmt: skip
    for name, clauses, about, error, text in texts:
        bad(f"json-{name}", clauses, about, error, changed(kind, text=text))
    good("json-one-line", "2.1", "white space does not matter",
         texted("features", lambda t: json.dumps(json.loads(t))))  # fmt: skip
    good("json-key-order", "2.1", "the order of keys does not matter",
         texted("shards", lambda t: json.dumps(dict(reversed(json.loads(t).items())))))  # fmt: skip
    good("json-escapes", "2.1", "letters may be escaped",
         texted("recordings", lambda t: t.replace("calls", "c\\u0061lls")))  # fmt: skip


def texted(kind: str, text: Callable[[str], str | bytes]) -> Run:
    """A good run whose manifest is written in another way."""
    run = KINDS[kind](COMPLETE)
    run.text = text
    return run


def digests() -> None:
    """Canonical JSON."""
    digest("digest-keys", "keys are sorted, white space goes", ' {"b": 1, "a" : [ ] } ',
           '{"a":[],"b":1}')  # fmt: skip
    digest("digest-utf-16-order", "keys are sorted by their UTF-16 code units",
           '{"\\ue000": 1, "\\ud83d\\ude00": 2}', '{"\U0001f600":2,"\ue000":1}')  # fmt: skip
    digest("digest-strings", "only what has to be escaped is",
           '"\\u0041\\/\\u001f\\n\\u007f\\u20ac"', '"A/\\u001f\\n\x7f€"')  # fmt: skip
    numbers = {
        "80.0": "80", "-0.0": "0", "-0": "0", "1e2": "100", "1.5": "1.5", "0.000001": "0.000001",
        "0.0000001": "1e-7", "1e20": "100000000000000000000", "1e21": "1e+21",
        "123456789012345680000": None, "9007199254740993": "9007199254740993",
        "9223372036854775807": "9223372036854775807",
        "-9223372036854775808": "-9223372036854775808", "9223372036854775808": None,
        "333333333.33333329": "333333333.3333333", "5e-324": "5e-324", "0.1": "0.1",
        "1.7976931348623157e308": "1.7976931348623157e+308", "1e16": "10000000000000000",
        "0.00001234": "0.00001234",
    }  # fmt: skip
    for number, (text, written) in enumerate(numbers.items()):
        digest(f"digest-number-{number:02}", f"the number {text}", text, written)
    digest("digest-depth-64", "64 arrays inside one another", "[" * 64 + "]" * 64,
           "[" * 64 + "]" * 64)  # fmt: skip
    digest("digest-depth-65", "65 arrays inside one another", "[" * 65 + "]" * 65, None)


def envelopes() -> None:
    """The fields that all kinds share."""
    versions = {"number": 1.0, "one-part": "1", "three-parts": "1.0.0", "letter": "1.x",
                "leading-zero": "01.0", "newline": "1.0\n", "digits": "1." + "9" * 5,
                "superscript": "1.²", "null": None}  # fmt: skip
    for name, version in versions.items():
        bad(f"version-{name}", "3.4", f"the version {version!r}", MALFORMED,
            changed("shards", put("version", version)))  # fmt: skip
    bad("version-major-0", "3.4", "a major version of before", "UnsupportedVersion",
        changed("shards", put("version", "0.9")))  # fmt: skip
    highest = KINDS["shards"](COMPLETE)
    highest.manifest["version"] = "1.9999"
    good("version-minor-9999", "3.5", "minor versions are numbers", highest)
    kinds = {"number": 1, "list": ["shards"], "null": None, "upper-case": "Shards"}
    for name, kind in kinds.items():
        bad(f"kind-{name}", "3.3", f"the kind {kind!r}", "UnknownKind",
            changed("shards", after=put("kind", kind)))  # fmt: skip
    bad("expect-another-kind", "3.9", "a good manifest of another kind than the one asked for",
        "WrongKind", changed("features"), expect="shards")  # fmt: skip
    good("expect-the-kind", "3.9", "a manifest of the kind asked for", features(COMPLETE),
         expect="features")  # fmt: skip
    names = {"with-slash": "a/b", "empty": "", "upper-case": "Calls", "too-long": "a" * 101,
             "begins-with-point": ".calls", "newline": "calls\n", "space": "a b",
             "number": 7}  # fmt: skip
    for name, text in names.items():
        bad(f"name-{name}", "3.7", f"the name {str(text)[:20]!r}", MALFORMED,
            changed("recordings", put("name", text)))  # fmt: skip
    longest = recordings(MINIMAL)
    longest.manifest["name"] = "a" + "._-9" * 24 + "zzz"
    good("name-of-100", "3.7", "a name of 100 letters", longest)
    fields = {
        "identity-absent": drop("identity"),
        "identity-upper-case": put("identity", "sha256:" + "A" * 64),
        "identity-without-algorithm": put("identity", "a" * 64),
        "files-absent": drop("files"),
        "files-digest-absent": drop("files.sha256"),
        "producer-empty-stage": put("producer.stage", ""),
        "attempt-absent": drop("execution.attempt"),
        "host-too-long": put("execution.host", "h" * 4097),
        "count-negative": put("execution.counts", {"units": -1}),
        "count-with-fraction": put("execution.counts", {"units": 1.0}),
        "count-as-text": put("execution.counts", {"units": "1"}),
        "count-as-boolean": put("execution.counts", {"units": True}),
        "setting-nested": put("execution.settings", {"a": {"b": 1}}),
        "inputs-null": put("inputs", None),
        "input-without-identity": drop_input("identity"),
        "input-of-unknown-kind": put("inputs.0.kind", "videos"),
        "input-name-with-slash": put("inputs.0.name", "a/b"),
        "input-sha256-short": put("inputs.0.sha256", "d" * 63),
    }
    for name, change in fields.items():
        bad(f"field-{name}", "3.6", "a field is absent, of another type or out of bounds",
            MALFORMED, changed("features", after=change))  # fmt: skip
    times = {"without-zone": "2026-01-31T12:00:00", "date": "2026-01-31", "number": 1769860800,
             "text": "yesterday", "month-13": "2026-13-31T12:00:00Z"}  # fmt: skip
    for name, moment in times.items():
        bad(f"time-{name}", "3.8", f"the time {moment!r}", MALFORMED,
            changed("features", after=put("created", moment)))  # fmt: skip
    offset, reads = features(MINIMAL), features(MINIMAL)
    offset.manifest["created"] = "2026-01-31T14:05:00+02:00"
    good("time-with-offset", "3.8", "a time of another zone", offset, reads=reads)
    places = {"leaves-the-root": "../elsewhere", "absolute": "/etc", "inner-parent": "a/../../b",
              "backslash": "a\\b", "empty": "", "unknown-scheme": "s3://bucket/a",
              "password": "hdfs://user:secret@nn/a", "file-of-a-host": "file://host/a",
              "control-character": "a\x07b", "empty-part": "a//b"}  # fmt: skip
    for name, place in places.items():
        bad(f"input-location-{name}", "3.10", f"the location {place!r}", MALFORMED,
            changed("features", put("inputs.0.location", place)))  # fmt: skip
    for name, place in {"file": "file:///data/recordings/a", "hdfs": "hdfs://nn:8020/a",
                        "webhdfs": "webhdfs://nn:9870/a"}.items():  # fmt: skip
        run = features(MINIMAL)
        run.manifest["inputs"][0]["location"] = place
        good(f"input-location-{name}", "3.10", f"an input under another root, {place}", run)


def drop_input(name: str) -> Callable[[Json], object]:
    """Take a field of the first input away."""
    return lambda manifest: manifest["inputs"][0].pop(name)


def identities() -> None:
    """What is in the identity, and what is not."""
    bad("identity-another", "4.2", "an identity that was made up", "WrongIdentity",
        changed("shards", after=put("identity", OTHER)))  # fmt: skip
    bad("identity-input-changed", "4.2", "another input", "WrongIdentity",
        changed("shards", after=put("inputs.0.identity", OTHER)))  # fmt: skip
    bad("identity-input-order", "4.2", "inputs in another order", "WrongIdentity",
        changed("shards", after=lambda m: m["inputs"].reverse()))  # fmt: skip
    bad("identity-input-added", "4.2", "an input more", "WrongIdentity",
        changed("shards", after=lambda m: m["inputs"].append(m["inputs"][0])))  # fmt: skip
    bad("identity-split-changed", "4.2", "a statistic of a split was changed", "WrongIdentity",
        changed("shards", after=put("stats.splits.train.groups", 3)))  # fmt: skip
    for name, value in {"records": 5, "split": "train", "shard": 1, "labels": {"en": 1}}.items():
        run = shards(MINIMAL)
        run.seal()
        stated = run.manifest["identity"]
        run.list_bytes = None
        run.entries[1][name] = value
        run.seal()
        run.manifest["identity"] = stated
        bad(f"identity-entry-{name}", "4.2", f"{name} of a file was changed, with all digests but"
            " the identity", "WrongIdentity", run)  # fmt: skip
    for name, change in {
        "created": put("created", "2020-01-01T00:00:00Z"),
        "host": put("execution.host", "elsewhere"),
        "producer": put("producer.version", "9.9.9"),
        "name": put("name", "another"),
        "input-location": put("inputs.0.location", "shards/moved"),
        "input-sha256": put("inputs.0.sha256", "9" * 64),
    }.items():
        run = training_run(COMPLETE)
        run.seal()
        stated = run.manifest["identity"]
        change(run.manifest)
        good(f"identity-not-{name}", "4.2", f"{name} is not in the identity", run)
        if run.manifest["identity"] != stated:
            raise AssertionError(name)
    run = training_run(COMPLETE)
    for entry in run.entries:
        if entry["role"] in DERIVED:
            run.data[entry["path"]] += b" of another day"
            data = run.data[entry["path"]]
            entry |= {"bytes": len(data), "sha256": sha256(data)}
    good("identity-not-derived", "4.2 5.6", "derived files are not in the identity: it is that of"
         " training-run-complete", run)  # fmt: skip
    run = shards(MINIMAL)
    run.add("report-0123456789ab.html", b"report", "report")
    good("identity-report-of-shards", "5.6", "a role is derived for the kind that says so", run)


def listed(entries: list[Json], kind: str = "recordings", data: bytes | None = None) -> Run:
    """A run with this list of files, or these bytes for one."""
    run = KINDS[kind](MINIMAL)
    run.entries, run.data = entries, {}
    run.list_bytes = data
    run.seal()
    return run


def entry(path: Any = "a", **fields: Any) -> Json:
    """An entry of an empty file."""
    return {"path": path, "bytes": 0, "sha256": sha256(b""), "role": "inventory", **fields}


def lists() -> None:
    """The list of files."""
    empty = listed([])
    good("list-empty", "5.2", "a run without data files", empty)
    line = canonical(entry()) + b"\n"
    entries = {
        "unknown-field": entry(colour="red"),
        "no-role": {key: value for key, value in entry().items() if key != "role"},
        "empty-role": entry(role=""),
        "bytes-negative": entry(bytes=-1),
        "bytes-with-fraction": entry(bytes=0.5),
        "sha256-upper-case": entry(sha256="A" * 64),
        "sha256-short": entry(sha256="a" * 63),
        "records-as-text": entry(records="3"),
        "split-with-slash": entry(split="a/b"),
        "labels-negative": entry(labels={"a": -1}),
        "uncompressed-without-digest": entry(uncompressed={"bytes": 1}),
    }
    for name, each in entries.items():
        bad(f"list-{name}", "5.4", "a field of an entry is unknown, absent or out of bounds",
            MALFORMED, listed([each]))  # fmt: skip
    paths = {"parent": "../x", "absolute": "/x", "empty-part": "a//b", "point": "a/./b",
             "backslash": "a\\b", "scheme": "file:///x", "newline": "a\nb", "empty": "",
             "drive": "C:x", "parent-last": "a/..", "delete": "a\x7f", "slash-last": "a/",
             "nul": "a\x00b", "too-long": "a" * 4097, "number": 1}  # fmt: skip
    for name, path in paths.items():
        bad(f"path-{name}", "5.5", f"the path {str(path)[:20]!r}", MALFORMED,
            listed([entry(path)]))  # fmt: skip
    run = recordings(MINIMAL)
    run.entries, run.data = [], {}
    for path in ("%2e%2e/x", "...", "a-b", "a/.b", "~a"):
        run.add(path, b"x", "inventory")
    good("path-taken-as-it-is", "5.3 5.5", "nothing is decoded, and the order is that of the bytes",
         run)  # fmt: skip
    smile, private = canonical(entry("\U0001f600")) + b"\n", canonical(entry("\ue000")) + b"\n"
    bad("list-sorted-by-utf-16", "5.3", "paths in the order of UTF-16 and not of their bytes",
        MALFORMED, listed([], data=smile + private))  # fmt: skip
    texts = {
        "without-last-newline": line[:-1],
        "blank-line": line + b"\n",
        "not-json": b"path\n",
        "array": b"[]\n",
        "duplicate-key": line.replace(b'"bytes":0', b'"bytes":0,"bytes":0'),
        "byte-order-mark": b"\xef\xbb\xbf" + line,
        "latin-1": line.replace(b'"a"', b'"\xe9"'),
    }
    for name, data in texts.items():
        bad(f"list-{name}", "5.2", "the list is not a JSON object a line", MALFORMED,
            listed([], data=data))  # fmt: skip
    other = line.replace(b'"path":"a"', b'"path":"b"')
    bad("list-not-sorted", "5.3", "paths in another order", MALFORMED,
        listed([], data=other + line))  # fmt: skip
    bad("list-path-twice", "5.3", "a path twice", MALFORMED, listed([], data=line + line))
    run = listed([entry(), entry("b")])
    run.manifest["files"]["count"] = 3
    bad("list-count-too-high", "5.2", "a count of more lines", MALFORMED, run)
    run = listed([entry(), entry("b")])
    run.manifest["files"]["count"] = 1
    bad("list-count-too-low", "5.2", "a count of fewer lines", MALFORMED, run)
    run = changed("shards")
    run.list_bytes = (run.list_bytes or b"").replace(b'"records":1', b'"records":7')
    bad("list-changed", "5.1", "the list was changed", "WrongChecksum", run)
    run = changed("shards")
    run.list_bytes = (run.list_bytes or b"") + line
    bad("list-longer", "5.1", "a line was added to the list", "WrongChecksum", run)
    run = changed("shards")
    run.list_bytes = (run.list_bytes or b"")[:-9]
    bad("list-cut-short", "5.1", "the list was cut short", "WrongChecksum", run)
    run = changed("shards")
    run.list_bytes = None
    bad("list-missing", "5.1", "the list is not there", "MissingFile", run)
    for name, text in {"leaves-folder": "../files-0123456789ab.jsonl", "other": "files.jsonl",
                       "of-another-digest": "files-0123456789ab.jsonl"}.items():  # fmt: skip
        bad(f"list-name-{name}", "5.1", f"a list called {text}", MALFORMED,
            renamed(changed("recordings"), text))  # fmt: skip
    bad("list-too-long", "5.1", "a list of more than 1 GiB", MALFORMED,
        changed("shards", after=put("files.bytes", 2**30 + 1)))  # fmt: skip


def renamed(run: Run, name: str) -> Run:
    """A run whose list has another name in the manifest, and is not there."""
    run.manifest["files"]["name"] = name
    run.list_bytes = None
    return run


def data_files() -> None:
    """The data files."""
    for name, error, about in (
        ("missing", "MissingFile", "a data file is not there"),
        ("cut-short", "WrongChecksum", "a data file was cut short"),
        ("longer", "WrongChecksum", "a data file is longer"),
        ("changed", "WrongChecksum", "a data file has another content of the same length"),
    ):
        for path in ("train/0.tfrecord.gz", "splits-0123456789ab.npy"):
            run = changed("shards")
            data = run.data.pop(path)
            if name != "missing":
                run.data[path] = {
                    "cut-short": data[:-1],
                    "longer": data + b"x",
                    "changed": data[:-1] + b"?",
                }[name]
            bad(f"data-{name}-{path.split('-')[0].split('/')[0]}", "5.7", about, error, run)
    run = changed("training-run")
    run.data["report-0123456789ab.html"] = b"another"
    bad("data-derived-changed", "5.6 5.7", "derived files are checked too", "WrongChecksum", run)
    run = recordings(MINIMAL)
    run.data["receipts/a.json"] = b"{"
    run.data["left-over.part"] = b"x"
    good("data-unlisted", "6.3", "files that no list names are passed over", run)
    bad("manifest-missing", "3.1 6.2", "a run folder without a manifest", "MissingManifest",
        NoManifest({}, data={"inventory.parquet": b"x"}))  # fmt: skip
    bad("manifest-folder-missing", "3.1", "no folder", "MissingManifest", NoManifest({}),
        folder="not-there")  # fmt: skip


class NoManifest(Run):
    """A folder of other files."""

    def write(self, folder: Path) -> None:
        """Write the data files alone."""
        folder.mkdir(parents=True)
        (folder / "README").write_bytes(b"There is no manifest here.\n")
        for path, data in self.data.items():
            (folder / path).write_bytes(data)


def bounds() -> None:
    """What is checked of the fields of one kind."""
    recordings_fields = {
        "source-relative": ("7.1", put("recipe.source", "archive")),
        "source-unknown-scheme": ("7.1", put("recipe.source", "s3://bucket/archive")),
        "algorithm-0": ("7.1", put("recipe.algorithm", 0)),
        "algorithm-as-text": ("7.1", put("recipe.algorithm", "1")),
        "unlabelled-unknown": ("7.1", put("recipe.unlabelled", "maybe")),
        "listing-not-hex": ("7.1", put("recipe.listing_sha256", "g" * 64)),
        "suffixes-as-text": ("7.1", put("recipe.suffixes", ".wav")),
        "labels-negative": ("7.2", put("stats.labels", {"en": -1})),
        "bytes-negative": ("7.2", put("stats.bytes", -1)),
    }
    features_fields = {
        "dtype-unknown": ("8.1", put("recipe.feature.dtype", "float64")),
        "shape-of-one": ("8.1", put("recipe.feature.shape", [40])),
        "shape-of-three": ("8.1", put("recipe.feature.shape", [1, 2, 3])),
        "shape-of-zero": ("8.1", put("recipe.feature.shape", [0, 3])),
        "sample-rate-0": ("8.1", put("recipe.feature.sample_rate", 0)),
        "parameter-nested": ("8.1", put("recipe.feature.parameters", {"a": [1]})),
        "windows-unknown": ("8.1", put("recipe.windows", "some")),
        "channels-unknown": ("8.1", put("recipe.channels", "rear")),
        "headerless-without-rate": ("8.1", drop("recipe.headerless.sample_rate")),
        "audio-seconds-negative": ("8.2", put("stats.audio_seconds", -1.0)),
        "refusals-as-list": ("8.2", put("stats.refusals", [])),
    }
    shards_fields = {
        "two-sizes": ("9.1", put("recipe.shard_bytes", 1000)),
        "no-size": ("9.1", put("recipe.shards", None)),
        "shares-over-one": ("9.1", put("recipe.splits", {"a": 0.75, "b": 0.75})),
        "shares-below-one": ("9.1", put("recipe.splits", {"a": 0.25, "b": 0.25})),
        "share-of-zero": ("9.1", put("recipe.splits", {"a": 1.0, "b": 0.0})),
        "share-negative": ("9.1", put("recipe.splits", {"a": 1.5, "b": -0.5})),
        "split-name-with-slash": ("9.1", put("recipe.splits", {"a/b": 1.0})),
        "two-ways-of-splitting": ("9.1", put("recipe.split_pattern", "(?P<split>.*)/.*")),
        "no-way-of-splitting": ("9.1", put("recipe.splits", {})),
        "stratify-without-splits": (
            "9.1",
            lambda m: m["recipe"].update(splits={}, split_table_sha256="a" * 64, stratify=True),
        ),
        "lanes-0": ("9.1", put("recipe.lanes", 0)),
        "seed-negative": ("9.1", put("recipe.seed", -1)),
        "compression-of-another-format": ("9.1", put("recipe.compression", "zstd")),
        "format-unknown": ("9.1", put("recipe.format", "csv")),
        "min-seconds-negative": ("9.1", put("recipe.min_seconds", -0.5)),
        "class-weight-0": ("9.1", put("recipe.class_weights", {"en": 0.0})),
        "class-weights-unknown": ("9.1", put("recipe.class_weights", "heavy")),
        "resample-unknown": ("9.1", put("recipe.resample", "twice")),
        "no-splits": ("9.2", put("stats.splits", {})),
        "not-a-multiple-of-lanes": ("9.2", put("stats.splits.train.shards", 3)),
        "more-shards-than-records": ("9.2", put("stats.splits.train.shards", 6)),
        "split-of-no-records": ("9.2", put("stats.splits.val.records", 0)),
        "variance-negative": (
            "9.2",
            put("stats.splits.train.coefficients", {"mean": [0.5], "variance": [-0.5]}),
        ),
        "variance-missing": (
            "9.2",
            put("stats.splits.train.coefficients", {"mean": [0.5, 0.5], "variance": [0.5]}),
        ),
        "target-variance-negative": (
            "9.2",
            put("stats.splits.train.targets", {"mean": 0.5, "variance": -0.5}),
        ),
        "rank-hash-short": ("9.2", put("stats.resampling.en.one_more_below", "0" * 31)),
    }
    training_fields = {
        "epochs-0": ("10.1", put("recipe.epochs", 0)),
        "batch-size-0": ("10.1", put("recipe.batch_size", 0)),
        "deterministic-as-number": ("10.1", put("recipe.deterministic", 1)),
        "keras-unknown": ("10.1", put("recipe.keras", "2")),
        "model-without-digest": ("10.1", drop("recipe.model.sha256")),
        "model-with-both": ("10.1", put("recipe.model.revision", 1)),
        "model-with-neither": ("10.1", put("recipe.model.sha256", None)),
        "builtin-with-digest": ("10.1", put("recipe.model.function", "builtin:conv1d")),
        "argument-nested": ("10.1", put("recipe.model.arguments", {"a": {}})),
        "replicas-0": ("10.2", put("stats.replicas", 0)),
        "score-as-text": ("10.2", put("stats.scores", {"val": {"loss": "low"}})),
    }
    for kind, fields in {
        "recordings": recordings_fields,
        "features": features_fields,
        "shards": shards_fields,
        "training-run": training_fields,
    }.items():
        for name, (clauses, change) in fields.items():
            bad(f"{kind}-{name}", clauses, "a field that is out of bounds", MALFORMED,
                changed(kind, change))  # fmt: skip
    run = shards(MINIMAL)
    run.manifest["recipe"]["seed"] = 2**63 - 1
    good("shards-seed-of-63-bits", "2.3 9.1", "integers are exact", run)
    run = shards(MINIMAL)
    run.manifest["recipe"] |= {"splits": {}, "split_table_sha256": "a" * 64, "unassigned": "drop"}
    run.manifest["stats"]["excluded"] = {"no split": 2}
    good("shards-by-table", "9.1", "splits that a table decided", run)
    run = shards(MINIMAL)
    run.manifest["recipe"] |= {"target": "number"}
    run.manifest["stats"]["splits"]["all"]["targets"] = {"mean": 3.5, "variance": 1.25}
    good("shards-of-numbers", "9.2", "shards with numbers to learn", run)
    run = recordings(COMPLETE)
    run.manifest["stats"]["labels"] = {"": 1, "\ue000": 1, "\U0001f600": 1, 'a"\\\n': 1}
    run.manifest["stats"]["recordings"] = 4
    run.text = lambda text: text
    good("recordings-labels", "2.5 7.2", "labels are any text", ordered(run))


def ordered(run: Run) -> Run:
    """State the identity of a run whose labels sort differently by UTF-16 and by code point."""
    seal = run.seal

    def sealed() -> None:
        seal()
        stats = dict(run.manifest["stats"])
        labels = stats.pop("labels")
        keys = sorted(labels, key=lambda key: key.encode("utf-16-be"))
        inner = ",".join(f"{json.dumps(key, ensure_ascii=False)}:{labels[key]}" for key in keys)
        whole = {**{key: canonical(each).decode() for key, each in stats.items()}}
        whole["labels"] = "{" + inner + "}"
        text = "{" + ",".join(f'"{key}":{whole[key]}' for key in sorted(whole)) + "}"
        basis = {
            "kind": "recordings",
            "recipe": run.manifest["recipe"],
            "inputs": [each["identity"] for each in run.manifest["inputs"]],
            "files": run.manifest["files"]["sha256"],
            "stats": sha256(text.encode()),
        }
        run.manifest["identity"] = "sha256:" + sha256(canonical(basis))

    run.seal = sealed  # type: ignore[method-assign]
    return run


def minor_1() -> None:
    """Version 1.1: object stores; agreement and digests of features; times, costs, CRC-32C."""
    for kind, make in KINDS.items():
        run = at_minor_1(make(COMPLETE))
        if kind == "features":
            run.manifest["stats"]["agreement"] = {
                "library": "librosa 0.11.0",
                "recordings": 4,
                "windows": 8,
                "deviation": 0.00025,
            }
            run.manifest["recipe"]["digest"] = "head"
        if kind == "training-run":
            run.manifest["execution"]["seconds"] = {"importing": 4.5, "steps": 60.25, "end": 2}
            run.manifest["execution"]["cost"] = {
                "seconds": a_cost(
                    start=12.5, work=50, runs=3, least=40, likely=60, most=90.5, actual=66.75
                ),
                "stored_bytes": a_cost(),
            }
        with_checksums(run)
        good(f"{kind}-1.1-complete", "3.6", f"every field of a {kind} manifest", run)
        good(f"{kind}-1.1-minimal", "3.6", "no field of version 1.1", at_minor_1(make(MINIMAL)))
        run = at_minor_1(make(COMPLETE))
        run.manifest["inputs"] = [an_input("recordings", "gs://bucket/recordings/calls-2025")]
        good(f"{kind}-1.1-input-object-store", "3.10", "the input lies in a bucket", run)
        run = at_minor_1(make(COMPLETE))
        run.manifest["inputs"] = [an_input("recordings", "ftp://host/recordings/calls-2025")]
        bad_1(f"{kind}-1.1-input-unknown-scheme", "3.10", "a storage that 1.1 does not know",
            MALFORMED, run)  # fmt: skip
    for place in ("s3://bucket/calls", "abfs://container/calls", "https://host:8443/calls"):
        run = at_minor_1(recordings(COMPLETE))
        run.manifest["recipe"]["source"] = place
        scheme = place.partition(":")[0]
        good(f"recordings-1.1-source-{scheme}", "7.1", "recordings in an object store", run)
    run = at_minor_1(recordings(COMPLETE))
    run.manifest["recipe"]["source"] = "ftp://host/calls"
    bad_1("recordings-1.1-source-unknown-scheme", "7.1", "a storage that 1.1 does not know",
        MALFORMED, run)  # fmt: skip
    for name, value in (("windows", 0), ("deviation", -1.0), ("library", "")):
        run = at_minor_1(features(COMPLETE))
        run.manifest["stats"]["agreement"] = {
            "library": "librosa 0.11.0", "recordings": 1, "windows": 1, "deviation": 0.0,
            name: value,
        }  # fmt: skip
        bad_1(
            f"features-1.1-agreement-{name}", "8.2", "a field that is out of bounds", MALFORMED, run
        )
    for name, amount in (("negative", -1.0), ("text", "1"), ("huge", 1e11)):
        run = at_minor_1(training_run(COMPLETE))
        run.manifest["execution"]["seconds"] = {"steps": amount}
        bad_1(f"training-run-1.1-seconds-{name}", "10.6", "no seconds of a class", MALFORMED, run)
    for name, wrong in (
        ("negative", {"actual": -1.0}),
        ("huge", {"most": 1e19}),
        ("unordered", {"least": 2.0, "likely": 1.0, "most": 3.0}),
        ("above-most", {"likely": 1.0}),
        ("text", {"start": "1"}),
    ):
        run = at_minor_1(features(COMPLETE))
        run.manifest["execution"]["cost"] = {"seconds": a_cost(**wrong)}
        bad_1(f"features-1.1-cost-{name}", "3.11", "no cost of a run", MALFORMED, run)
    run = at_minor_1(features(COMPLETE))
    run.manifest["recipe"]["digest"] = "tail"
    bad_1("features-1.1-digest-unknown", "8.1", "a digest that 1.1 does not know", MALFORMED, run)


def minor_1_texts() -> None:
    """Times, locations and letters that clauses of 1.0 refuse and none of its cases has."""
    times = {"seconds-since-1970": "1700000000", "number": "-5",
             "underscore": "2026-01-31_12:05:00Z", "without-seconds": "2026-01-31T12:05Z",
             "short-offset": "2026-01-31T12:05:00+0100"}  # fmt: skip
    for name, moment in times.items():
        run = at_minor_1(features(COMPLETE))
        run.manifest["created"] = moment
        bad_1(f"features-1.1-time-{name}", "3.8", f"the time {moment!r}", MALFORMED, run)
    places = {"path": "a/b://c", "parents": "../../etc://x", "space": " file:///x",
              "name-of-hadoop": "s3a://bucket/x"}  # fmt: skip
    for name, place in places.items():
        run = at_minor_1(features(COMPLETE))
        run.manifest["inputs"][0]["location"] = place
        bad_1(f"features-1.1-input-scheme-{name}", "3.10", f"the location {place!r}", MALFORMED,
              run)  # fmt: skip
        run = at_minor_1(recordings(COMPLETE))
        run.manifest["recipe"]["source"] = place
        bad_1(f"recordings-1.1-source-scheme-{name}", "7.1", f"the source {place!r}", MALFORMED,
              run)  # fmt: skip
    later = recordings(MINIMAL)
    later.manifest["version"] = "1.7"
    later.entries[0]["later"] = "half"
    later.list_bytes = canonical(later.entries[0]).replace(b"half", b"\\ud800") + b"\n"
    bad_1("list-lone-surrogate", "5.2", "half of a surrogate pair in an unknown field of an entry",
          MALFORMED, later)  # fmt: skip


def bad_1(name: str, clauses: str, about: str, error: str, run: Run) -> None:
    """A run of version 1.1 that is refused for its one fault: all else in it is right."""
    run.seal()
    bad(name, clauses, about, error, run)


def with_checksums(run: Run) -> None:
    """Give each entry its CRC-32C."""
    for entry in run.entries:
        entry["crc32c"] = crc32c(run.data[entry["path"]])
        if "uncompressed" in entry:
            entry["uncompressed"]["crc32c"] = "f" * 8


def checksums() -> None:
    """CRC-32C of a file: version 1.1."""
    for name, value in (("upper-case", "ABCDEF01"), ("short", "abcdef0"), ("number", 0x12345678)):
        run = at_minor_1(shards(MINIMAL))
        run.entries[0]["crc32c"] = value
        bad_1(f"shards-1.1-crc32c-{name}", "5.4", "no CRC-32C", MALFORMED, run)
    run = at_minor_1(shards(MINIMAL))
    run.entries[0]["crc32c"] = crc32c(b"another")
    bad_1("shards-1.1-crc32c-wrong", "5.9", "a CRC-32C of other bytes", "WrongChecksum", run)


def a_cost(**given: Any) -> dict[str, Any]:
    """A quantity of which nothing was predicted, but for what is given."""
    names = ("start", "work", "runs", "least", "likely", "most")
    return {**dict.fromkeys(names, 0), "actual": None, **given}


def at_minor_1(run: Run) -> Run:
    """The run as version 1.1 of its kind."""
    run.manifest["version"] = "1.1"
    return run


def main() -> None:
    """Write all cases anew."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "cases"
    for each in (
        each_kind,
        encodings,
        digests,
        envelopes,
        identities,
        lists,
        data_files,
        bounds,
        minor_1,
        minor_1_texts,
        checksums,
    ):
        each()
    names = [case.name for case in CASES]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"two cases of one name: {sorted(twice)}")
    shutil.rmtree(folder, ignore_errors=True)
    for case in CASES:
        case.write(folder)
    sys.stdout.write(f"{len(CASES)} cases\n")


if __name__ == "__main__":
    main()
