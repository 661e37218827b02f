"""When a result equals the oracle's: scores close, sets equal between well separated scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.oracle.beam import Found, Scored

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """Users by outcome; `different` says why for each."""

    equal: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    different: dict[str, list[str]] = field(default_factory=dict)

    def check(self, excused_share: float = 0.02) -> None:
        """Prints the excused; raises AssertionError on a difference or on too many excuses."""
        users = len(self.equal) + len(self.excused) + len(self.different)
        print(f"{len(self.equal)} of {users} users equal; excused: {self.excused or 'none'}")
        assert not self.different, "\n".join(
            f"user {user}: {'; '.join(why)}" for user, why in self.different.items()
        )
        assert users > 0, "no users were compared"
        assert len(self.excused) <= excused_share * users, (
            f"{len(self.excused)} of {users} users excused, at most {excused_share:.0%} allowed"
        )


def compare_users(
    ours: Mapping[str, Scored], oracle: Mapping[str, Found], tolerance: float = TOLERANCE
) -> Comparison:
    """Compares every user; a difference is excused where a level was cut within the tolerance."""
    assert ours.keys() == oracle.keys(), f"users differ: {ours.keys() ^ oracle.keys()}"
    outcome = Comparison()
    for user, found in oracle.items():
        problems = compare(ours[user], found, tolerance)
        if not problems:
            outcome.equal.append(user)
        elif min(found.cut_gaps) <= tolerance and not _malformed(ours[user]):
            outcome.excused.append(user)
        else:
            outcome.different[user] = problems
    return outcome


def compare(ours: Scored, oracle: Found, tolerance: float = TOLERANCE) -> list[str]:
    """What differs, as sentences; empty when the result is the oracle's.

    Scores must agree place by place and SID by SID. Consecutive results of the oracle whose
    neighbours lie within the tolerance form a run; the SIDs of a run must be the same set. The
    last run is free where the width cut through it.
    """
    want = oracle.results
    problems = _malformed(ours)
    if len(ours) != len(want):
        return [*problems, f"{len(ours)} results where the oracle has {len(want)}"]
    known = dict(want)
    for place, ((sid, score), (_, expected)) in enumerate(zip(ours, want, strict=True)):
        if not abs(score - expected) <= tolerance:
            problems.append(f"place {place}: score {score:.6f}, oracle {expected:.6f}")
        if sid in known and not abs(score - known[sid]) <= tolerance:
            problems.append(f"SID {sid}: score {score:.6f}, oracle {known[sid]:.6f}")
    for first, end in _runs([score for _, score in want], tolerance):
        if end == len(want) and oracle.cut_gaps[-1] <= tolerance:
            continue
        got, expected_set = ({sid for sid, _ in part[first:end]} for part in (ours, want))
        if got != expected_set:
            problems.append(
                f"places {first} to {end - 1}: {sorted(got - expected_set)} "
                f"instead of {sorted(expected_set - got)}"
            )
    return problems


def _malformed(ours: Scored) -> list[str]:
    """Faults that no near tie excuses."""
    scores = [score for _, score in ours]
    problems = []
    if not all(a >= b for a, b in pairwise(scores)):
        problems.append("results are not best first, or a score is NaN")
    if len({sid for sid, _ in ours}) != len(ours):
        problems.append("a SID came out twice")
    return problems


def _runs(scores: Sequence[float], tolerance: float) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive places whose neighbours differ by at most the tolerance."""
    first = 0
    for place in range(1, len(scores) + 1):
        if place == len(scores) or scores[place - 1] - scores[place] > tolerance:
            yield first, place
            first = place
