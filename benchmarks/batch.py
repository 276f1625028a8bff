"""Runs `flare-local batch` at several concurrencies and kills it: are the answers the same, and what is gained?

python -m benchmarks.batch QUESTIONS --out FOLDER --limit 60 --concurrency 1 4 16 --kills 20 -- --model M --index I ...

What follows `--` goes to `batch` as it is. Prints one line a concurrency (answers equal to the first, seconds a
question, tokens a second, ratio, peak of the pool) and then what a run killed at random moments came to.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("questions")
    options.add_argument("--out", type=Path, required=True, help="folder; one run a concurrency is made in it")
    options.add_argument("--limit", type=int, default=60)
    options.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 16])
    options.add_argument("--kills", type=int, default=20, help="0: no killed run")
    options.add_argument("--seed", type=int, default=0, help="of the moments of killing")
    given = options.parse_args(words[:at])
    common = [given.questions, "--limit", str(given.limit), *words[at + 1 :]]

    first: dict[str, Any] = {}
    base = 0.0
    for concurrency in given.concurrency:
        run = given.out / f"at-{concurrency}"
        subprocess.run(command(run, concurrency, common), check=True, stdout=subprocess.DEVNULL)
        results, session = told(run), last_session(run)
        first, base = first or results, base or session["seconds"]
        same = sum(results[id] == first[id] for id in first)
        each, rate = session["seconds"] / session["answered"], session["answer_tokens"] / session["seconds"]
        pool = session["pool"]
        print(
            f"concurrency {concurrency}: {same} of {len(first)} answers as at {given.concurrency[0]}, "
            f"{each:.2f} s a question, {rate:.2f} answer tokens/s, {base / session['seconds']:.2f} times as fast; "
            f"calls in flight held {pool['in_use']:,} slots at most, without sharing {pool['separate']:,}",
            flush=True,
        )
    if given.kills:
        run = given.out / "killed"
        kill(run, command(run, given.concurrency[-1], common), given.kills, random.Random(given.seed), given.limit)
        subprocess.run(command(run, given.concurrency[-1], common), check=True, stdout=subprocess.DEVNULL)
        results = told(run)
        same = sum(results.get(id) == answer for id, answer in first.items())
        print(f"killed {given.kills} times: {len(results)} answers, {same} of {len(first)} as undisturbed", flush=True)


def command(run: Path, concurrency: int, common: list[str]) -> list[str]:
    """The command line of one run."""
    return [sys.executable, "-m", "flare_local", "batch", *common, "--out", str(run), "--concurrency", str(concurrency)]


def kill(run: Path, words: list[str], times: int, rng: random.Random, questions: int) -> None:
    """Starts the run and kills it, `times` times over, `questions / times` answers apart on average."""
    shutil.rmtree(run, ignore_errors=True)
    results = run / "results.jsonl"
    for _ in range(times):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = length(results) + rng.randrange(max(1, 2 * questions // times))
        while process.poll() is None and (length(results) < wanted or not (run / "run.json").exists()):
            time.sleep(0.005)
        time.sleep(rng.random())
        process.kill()
        process.wait()


def length(results: Path) -> int:
    """Whole lines so far."""
    return results.read_bytes().count(b"\n") if results.exists() else 0


def told(run: Path) -> dict[str, Any]:
    """What each answer says, by id: texts, tokens, decisions, queries, documents. Fails where an id is there twice."""
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    answers = {
        row["id"]: [
            row["answer"],
            row["stop_reason"],
            *(
                (step["triggered"], step["queries"], step["documents"], step["sentence"]["ids"])
                for step in row["steps"]
            ),
        ]
        for row in rows
    }
    assert len(answers) == len(rows), "a question is there twice"
    return answers


def last_session(run: Path) -> dict[str, Any]:
    """What the last process on a run counted."""
    session: dict[str, Any] = json.loads((run / "sessions.jsonl").read_text().splitlines()[-1])
    return session


if __name__ == "__main__":
    main()
