"""Early stopping for `--callbacks`, for those who want no file of their own for it.

Its revision stands in `models.source`: raise it when what is returned changes.
"""

import keras


def early_stopping(
    *,
    monitor: str = "val_loss",
    patience: int = 3,
    min_delta: float = 0.0,
    restore_best: bool = True,
) -> list[keras.callbacks.Callback]:
    """End when a number has not become better for some epochs.

    Args:
        monitor: the number, as the history calls it.
        patience: epochs without a better one.
        min_delta: by how much it has to be better.
        restore_best: the run's weights are those of its best epoch, not those of the last.
    """
    return [
        keras.callbacks.EarlyStopping(
            monitor, min_delta=min_delta, patience=patience, restore_best_weights=restore_best
        )
    ]
