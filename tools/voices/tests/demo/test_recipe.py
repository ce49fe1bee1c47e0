import re
import statistics
from collections import Counter

import pytest
from audioloom_voices.demo.command import PATTERN, VOICE_PATTERN
from audioloom_voices.demo.recipe import CLASSES, DIFFICULTIES, choose_voices, utterances


@pytest.mark.parametrize("count", [-1, 0, 13])
def test_refuses_a_number_of_voices_that_is_not_there(count: int) -> None:
    """Too many voices cannot quietly become fewer."""
    with pytest.raises(ValueError, match="expected 1 to 12 voices"):
        choose_voices(count)


@pytest.mark.parametrize("count", [0, 41])
def test_refuses_a_number_of_sentences_that_is_not_there(count: int) -> None:
    """Neither none nor more than there are."""
    with pytest.raises(ValueError, match="expected 1 to 40 sentences"):
        list(utterances(("en",), count))


@pytest.mark.parametrize("count", range(1, 13))
def test_voices_have_different_names_and_none_is_british(count: int) -> None:
    """The engine ignores every variant of en-gb."""
    voices = choose_voices(count)
    assert len(set(voices)) == count
    assert [v for v in voices if v.startswith("en-gb")] == []


def test_classes_are_balanced_in_voice_and_text() -> None:
    """Forty recordings a class, eight a voice in each class, every sentence once a class."""
    demo = list(utterances(choose_voices(5), 40))
    assert Counter(dict.fromkeys(CLASSES, 40)) == Counter(u.label for u in demo)
    assert {8} == set(Counter((u.label, u.voice) for u in demo).values())
    assert {1} == set(Counter((u.label, u.sentence) for u in demo).values())


def test_the_order_of_voices_is_not_in_step_with_counting_off_sentences() -> None:
    """Any fifth of the sentences, counted off or in a row, is heard in all five voices."""
    demo = list(utterances(choose_voices(5), 40))
    for part in range(5):
        counted_off = {u.voice for u in demo if u.sentence % 5 == part}
        in_a_row = {u.voice for u in demo if u.sentence // 8 == part}
        pairs = {(u.label, u.voice) for u in demo if u.sentence % 5 != part}
        assert counted_off == in_a_row == set(choose_voices(5))
        assert len(pairs) == 8 * 5


def test_a_smaller_demo_is_a_part_of_the_larger() -> None:
    """Jitter hangs on seed, class and sentence alone, not on how many came before."""
    voices = choose_voices(5)
    assert set(utterances(voices, 7, "hard", 3)) < set(utterances(voices, 40, "hard", 3))


def test_seed_and_difficulty_change_how_it_is_said() -> None:
    """Otherwise two of the settings would do nothing."""
    voices = choose_voices(5)
    easy, other_seed, hard = (
        [(u.rate, u.pitch, u.amplitude) for u in utterances(voices, 40, difficulty, seed)]
        for difficulty, seed in [("easy", 0), ("easy", 1), ("hard", 0)]
    )
    assert easy != other_seed
    assert easy != hard


def test_hard_spreads_wider_than_easy() -> None:
    """The spread of rates within a class is about five times as large."""

    def spread(difficulty: str) -> float:
        rates = [u.rate for u in utterances(("en",), 40, difficulty) if u.label == "neutral"]
        return statistics.pstdev(rates)

    assert spread("hard") > 3 * spread("easy") > 0


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_values_stay_where_the_engine_takes_them(difficulty: str) -> None:
    """However far the jitter goes, in forty seeds."""
    for seed in range(40):
        for u in utterances(("en",), 40, difficulty, seed):
            assert 80 <= u.rate <= 450
            assert 0 <= u.pitch <= 99
            assert 10 <= u.amplitude <= 200


def test_the_printed_patterns_match_every_path() -> None:
    """Label and group, by sentence or by voice, come out of the relative path."""
    for u in utterances(choose_voices(12), 40):
        by_sentence = re.fullmatch(PATTERN, u.path)
        by_voice = re.fullmatch(VOICE_PATTERN, u.path)
        assert by_sentence is not None
        assert by_voice is not None
        assert by_sentence.groupdict() == {"label": u.label, "group": f"{u.sentence:02d}"}
        assert by_voice.groupdict() == {"label": u.label, "group": u.voice.replace("+", "-")}


def test_paths_are_all_different() -> None:
    """No recording is written over another."""
    demo = list(utterances(choose_voices(12), 40))
    assert len({u.path for u in demo}) == len(demo) == 320
