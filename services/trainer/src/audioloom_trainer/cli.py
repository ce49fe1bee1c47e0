"""The command line of the trainer: one function a command, nothing decided here."""

from __future__ import annotations

from audioloom_stage import Result, command, run_app, stage_app

from audioloom_trainer.settings import RunSettings

app = stage_app(
    "trainer",
    help="Train a Keras model on shards, alone or as one of the workers that TF_CONFIG names.",
)


@command(app, RunSettings)
def run(settings: RunSettings) -> Result:
    """Train to the end and commit the run; print where its manifest is."""
    from audioloom_trainer.train import train

    return train(settings)


main = run_app(app)
