from unittest.mock import MagicMock

from audioloom_runs.scores import epoch_line, score_line, score_table, tell_scores
from structlog.testing import capture_logs


def test_scores_are_shown_beside_guessing() -> None:
    """A person sees at once whether something was learned."""
    scores = {"accuracy": 0.42, "chance": 0.25, "loss": 1.08, "majority": 0.3}
    expected = "loss 1.0800  accuracy 0.4200  (chance 0.2500, majority 0.3000)"
    assert expected == score_line(scores)
    assert "loss 1.0800" == score_line({"loss": 1.08})


def test_an_epoch_is_one_readable_line() -> None:
    """Its number, the scores, those of the validation split, and the wait for the input."""
    entry = {"epoch": 5, "loss": 1.08, "val_loss": 1.2, "val_accuracy": 0.4}
    expected = "epoch 5/12  loss 1.0800 | val loss 1.2000  accuracy 0.4000 | input wait 3.0%"
    assert expected == epoch_line(entry, 12, 0.03)
    assert "epoch 1/1  loss 2.0000" == epoch_line({"epoch": 1, "loss": 2.0}, 1, None)


def test_a_huge_loss_fits_its_column() -> None:
    """Not with 34 digits."""
    assert "3.310e+33" in score_table({"val": {"loss": 3.31e33}})
    assert "nan" in score_table({"val": {"loss": float("nan")}})


def test_a_tiny_loss_is_not_shown_as_nothing() -> None:
    """A loss that still falls differs from one that is 0."""
    assert "loss 4.878e-05  accuracy 0.0000" == score_line({"loss": 4.878e-5, "accuracy": 0.0})


def test_a_metric_may_have_any_name() -> None:
    """It is told after the commit, and no name ends the run there."""
    scores = {"loss": 1.0, "event": 2.0, "split": 3.0, "readable": 4.0}
    opened = MagicMock()
    opened.manifest.stats.scores = {"test": scores}
    with capture_logs() as logs:
        tell_scores(opened)
    assert ("scores", "test", scores) == tuple(logs[0][key] for key in ("event", "split", "scores"))
