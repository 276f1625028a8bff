"""Reads a profile back: spans and tracks, as they were recorded. A killed run's file lacks its end, and is read too."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flare_local.errors import FlareError
from flare_local.spans import AT_ONCE, Kind, Span, Track

REMEDY = "Record one with `flare-local ask QUESTION --profile FILE`."


@dataclass(frozen=True)
class Profile:
    """A run as it was recorded. Times of spans are ns since its beginning."""

    tracks: dict[int, Track]
    spans: list[Span]  # in order of beginning, an outer one before those inside it; without events
    events: list[Span] = field(default_factory=list)  # those without a length, in order

    @property
    def run(self) -> Span:
        """The whole run; made up to the last thing known where the run was killed before it could be written."""
        found = next((span for span in self.spans if span.kind is Kind.RUN), None)
        if found is not None:
            return found
        end = max((span.ended for span in self.spans), default=0)
        return Span(Kind.RUN, "run", 0, 0, 0, end, {"ended": "killed"})

    @property
    def questions(self) -> list[Span]:
        """One span a question, in the order in which they were begun."""
        found = [span for span in self.spans if span.kind is Kind.POLICY and self.tracks[span.track].of == 0]
        return sorted(found, key=lambda span: (span.began, span.track))

    def at_once(self, track: int) -> bool:
        """Whether it holds verbs that a question waits for beside another."""
        return track in self.tracks and self.tracks[track].name == AT_ONCE and bool(self.tracks[track].of)

    def question_of(self, track: int) -> int:
        """The track of the question that `track` belongs to; 0: none."""
        of = self.tracks[track].of if track in self.tracks else None
        return 0 if of is None else of or track


def read_profile(path: Path) -> Profile:
    """Raises `FlareError` for a file that cannot be read or holds no profile of this program."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise FlareError(f"The profile {path} cannot be read: {reason}.", REMEDY) from None
    tracks: dict[int, Track] = {}
    spans: list[Span] = []
    for number, line in enumerate(lines, 1):
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line.rstrip(","))
            if event["ph"] == "X":
                spans.append(_span(event))
            elif event["name"] == "thread_name":
                tracks[event["tid"]] = Track(event["tid"], str(event["args"]["name"]), event["args"]["of"])
        except (ValueError, KeyError, TypeError, AttributeError):
            if number == len(lines):  # cut off when the run was killed
                break
            raise FlareError(f"Line {number} of {path} is no event of a flare-local profile.", REMEDY) from None
    if not spans or any(span.track not in tracks for span in spans):
        raise FlareError(f"{path} is no profile of flare-local.", REMEDY)
    spans.sort(key=lambda span: (span.began, -span.ended))
    noted = [span for span in spans if span.kind is Kind.NOTE]
    return Profile(tracks, [span for span in spans if span.kind is not Kind.NOTE], noted)


def _span(event: dict[str, Any]) -> Span:
    about = dict(event.get("args", {}))
    began, track = round(event["ts"] * 1000), int(event["tid"])
    question = int(about.pop("question", track if event["pid"] == 2 else 0))
    return Span(
        Kind(event["cat"]), str(event["name"]), track, question, began, began + round(event["dur"] * 1000), about
    )
