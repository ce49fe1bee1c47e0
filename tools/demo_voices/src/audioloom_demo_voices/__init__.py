"""Makes a small, balanced set of synthetic recordings to try audioloom with.

Eight *prosody classes* (not emotions: see the README) say the same forty sentences in the same
voices, so neither the text nor the voice gives the label away.
"""

from audioloom_demo_voices.errors import (
    DemoVoicesError,
    EngineMissing,
    FolderTaken,
    SynthesisFailed,
    VoicesAlike,
)
from audioloom_demo_voices.make import Made, make
from audioloom_demo_voices.recipe import CLASSES, Utterance, choose_voices, utterances
from audioloom_demo_voices.sentences import SENTENCES

__all__ = [
    "CLASSES",
    "SENTENCES",
    "DemoVoicesError",
    "EngineMissing",
    "FolderTaken",
    "Made",
    "SynthesisFailed",
    "Utterance",
    "VoicesAlike",
    "choose_voices",
    "make",
    "utterances",
]
