"""What every benchmark reads: questions of a JSONL file, and the options that all of them share."""

import argparse
import json
from pathlib import Path

JSONL = "JSONL, one question a line, written as they finish"


def parser(description: str, out: str = JSONL) -> argparse.ArgumentParser:
    """The options of a benchmark. The defaults are the embedded model, town and questions. `out`: what --out takes."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--model", help="hub name, folder or GGUF file (the embedded one)")
    options.add_argument("--index", help="index of the corpus (the embedded one)")
    options.add_argument("--questions", type=Path, help="JSONL with a key `question` (the embedded ones)")
    options.add_argument("--exemplars", type=Path, help="exemplar file (the embedded one)")
    options.add_argument("--dtype", default="float32")
    options.add_argument("--limit", type=int, default=6, help="number of questions")
    options.add_argument("--top-k", type=int, default=2)
    options.add_argument("--max-new-tokens", type=int, default=256)
    options.add_argument("--end-after", default="answer is")
    options.add_argument("--out", type=Path, required=True, help=out)
    return options


def with_embedded(options: argparse.Namespace) -> argparse.Namespace:
    """Fills in the embedded model, index, questions and exemplars where the user named none."""
    from flare_local import embedded
    from flare_local.embedded.index import embedded_index
    from flare_local.embedded.model import embedded_model

    folder = Path(embedded.__file__).parent
    options.model = options.model or str(embedded_model())
    options.index = options.index or str(embedded_index())
    options.questions = options.questions or folder / "questions.jsonl"
    options.exemplars = options.exemplars or folder / "exemplars.jsonl"
    return options


def questions(path: Path, limit: int) -> list[str]:
    """The first `limit` questions of a JSONL file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row["question"] for row in rows[:limit]]


def append(path: Path, row: dict[str, object]) -> None:
    """Writes one line, at once: what was measured stays, whatever happens next."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def cpu() -> str:
    """Name of the processor, and whether it has AMX and AVX512-bf16."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    flags = named.get("flags", "").split()
    has = [name for name, flag in (("AMX", "amx_tile"), ("AVX512-bf16", "avx512_bf16")) if flag in flags]
    return f"{named.get('model name', 'unknown CPU')}, {text.count('processor')} cores, {', '.join(has) or 'no AMX'}"
