"""Evaluation by play, where a game is too large for exact values: matches and lower bounds."""

from cfrlib.playing.lower_bound import (
    LocalBestResponse,
    TrainedResponse,
    best_response_bound,
    exploitability_bound,
)
from cfrlib.playing.matches import match, simulate

__all__ = [
    "LocalBestResponse",
    "TrainedResponse",
    "best_response_bound",
    "exploitability_bound",
    "match",
    "simulate",
]
