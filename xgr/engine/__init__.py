"""Beam search over the catalogue: requests in, items out."""

from xgr.engine.config import EngineConfig
from xgr.engine.engine import Engine
from xgr.engine.recommender import Recommender
from xgr.engine.request import Request
from xgr.engine.results import Beam, Recommendation, Recommendations

__all__ = [
    "Beam",
    "Engine",
    "EngineConfig",
    "Recommendation",
    "Recommendations",
    "Recommender",
    "Request",
]
