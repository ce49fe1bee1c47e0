from audioloom_voices.demo.sentences import SENTENCES


def test_forty_different_sentences() -> None:
    """A repeated sentence would lie in two groups, and leak from training into the test."""
    assert len(set(SENTENCES)) == len(SENTENCES) == 40


def test_sentences_are_plain_text() -> None:
    """No markup, no closing mark (the class brings it), nothing beyond ASCII."""
    odd = [s for s in SENTENCES if not s.isascii() or set(s) & set("<>&\"'.!?") or s != s.strip()]
    assert odd == []
