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
    """End when a number of the history has not become better by *min_delta* for *patience* epochs.

    With *restore_best* the run has the weights of its best epoch, not those of the last.
    """
    return [
        keras.callbacks.EarlyStopping(
            monitor, min_delta=min_delta, patience=patience, restore_best_weights=restore_best
        )
    ]
