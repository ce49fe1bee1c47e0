from pathlib import Path

import pytest
from audioloom_manifest.errors import MalformedManifest
from audioloom_manifest.receipts import Receipt, publish_receipt, read_receipts
from audioloom_storage import Location, NotAFolder, Unavailable
from manifest_runs import write


def receipt(root: Location, unit: str, attempt: str = "one", data: bytes = b"x") -> Receipt:
    return Receipt(
        unit=unit, attempt=attempt, files=(write(root, f"{unit}-{attempt}", data),), counts={"n": 1}
    )


def test_receipt_that_is_no_receipt_is_refused(root: Location) -> None:
    """A receipt is data from outside too."""
    publish_receipt(root, receipt(root, "a"))
    Path(root.path, "receipts", "a.json").write_text('{"unit": "../b"}')
    with pytest.raises(MalformedManifest, match=r"a\.json"):
        read_receipts(root, ["a"])


def test_first_receipt_stands(root: Location) -> None:
    """Of two tries at a unit the first receipt is the unit's."""
    first = publish_receipt(root, receipt(root, "a", "one"))
    second = publish_receipt(root, receipt(root, "a", "two"))
    assert first == second == read_receipts(root, ["a"])["a"]


def test_unit_whose_file_is_gone_is_done_again(root: Location) -> None:
    """A receipt that is no longer true does not count, and gives way to a new one."""
    publish_receipt(root, receipt(root, "a", "one"))
    Path(root.path, "a-one").unlink()
    assert {} == read_receipts(root, ["a"])
    again = publish_receipt(root, receipt(root, "a", "two"))
    assert {"a": again} == read_receipts(root, ["a"])


def test_receipts_of_other_units_do_not_count(root: Location) -> None:
    """Only the units of the plan are looked at: another plan may have used the folder."""
    publish_receipt(root, receipt(root, "a"))
    assert {} == read_receipts(root, ["b"])


def test_no_receipts_yet(root: Location) -> None:
    """A fresh folder has none."""
    assert {} == read_receipts(root, ["a"])


def test_a_receipt_behind_a_link_does_not_give_way(root: Location) -> None:
    """What a link leads to is another run's, whose files lie elsewhere."""
    publish_receipt(root / "other", receipt(root / "other", "a", "one"))
    Path(root.path, "run").mkdir()
    Path(root.path, "run", "receipts").symlink_to(Path(root.path, "other", "receipts"))
    with pytest.raises(NotAFolder):
        publish_receipt(root / "run", receipt(root / "run", "a", "two"))
    assert ["a"] == list(read_receipts(root / "other", ["a"]))


def test_no_receipt_appears_before_the_files_of_its_unit(root: Location) -> None:
    """A file that does not come takes the receipt with it."""
    one = receipt(root, "a")
    unit = one.unit

    def finish() -> None:
        assert {} == read_receipts(root, [unit])
        raise Unavailable("gone")

    with pytest.raises(Unavailable):
        publish_receipt(root, one, finish)
    assert {} == read_receipts(root, [unit])
    assert one == publish_receipt(root, one, lambda: None)
    assert {unit: one} == read_receipts(root, [unit])
