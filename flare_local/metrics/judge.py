"""One answer judged: every value that its task's figures are made of."""

from flare_local.datasets.item import Item
from flare_local.metrics.extract import answers_to_readings, output, short_answer, yes_or_no
from flare_local.metrics.judges import Judges
from flare_local.metrics.prediction import Prediction
from flare_local.metrics.readings import disambig_f1, str_em
from flare_local.metrics.short_answer import NOTHING, best_overlap, contains, exact_match
from flare_local.metrics.support import By, support

Values = dict[str, float]  # name of a value -> it; what cannot be had is not there


def judge(task: str, item: Item, prediction: Prediction, judges: Judges) -> Values:
    """How good one answer is, and what it cost. Shares are from 0 to 1."""
    return _quality(task, item, prediction, judges) | cost(prediction)


def judge_retrieval(item: Item, prediction: Prediction, by: By, k: int) -> Values:
    """Whether its documents were found; `k`: depth at which the first search is judged."""
    found = support(item, prediction, k, by)
    if found is None:
        return {}
    return {"support": found.recall, "support_at_k": found.recall_at_k, "ndcg_at_k": found.ndcg_at_k}


def cost(prediction: Prediction) -> Values:
    """What an answer cost; of one without a judge all that can be told."""
    return {
        "calls": float(prediction.calls),
        "searches": float(len(prediction.searches)),
        "sentences": float(prediction.sentences),
        "triggered": float(prediction.triggered),
        "searched": float(prediction.searched),
        "tokens": float(prediction.tokens),
        "seconds": prediction.seconds,
    }


def is_right(task: str, values: Values) -> float:
    """How right an answer is, from 0 to 1: what a token's probability is compared with (`calibration`)."""
    return values.get("em", values.get("contains", values.get("rouge_l", 0.0)))


def _quality(task: str, item: Item, prediction: Prediction, judges: Judges) -> Values:
    match task:
        case "2wiki" | "hotpotqa":
            return _short(item, prediction)
        case "strategyqa":
            said = yes_or_no(prediction.text)
            return {"em": float(said == item.answers[0].lower()), "wrong_format": float(said is None)}
        case "asqa" | "asqa-hint":
            return _readings(item, prediction, judges)
        case "wikiasp":
            return _summary(item, prediction, judges)
        case _:
            return {"contains": contains(prediction.text, item.answers)}


def _short(item: Item, prediction: Prediction) -> Values:
    said = short_answer(prediction.text)
    shared = NOTHING if said is None else best_overlap(said, item.answers)
    return {
        "em": 0.0 if said is None else exact_match(said, item.answers),
        "f1": shared.f1,
        "precision": shared.precision,
        "recall": shared.recall,
        "wrong_format": float(said is None),
    }


def _readings(item: Item, prediction: Prediction, judges: Judges) -> Values:
    text, announced = answers_to_readings(prediction.text)
    values = {"em": str_em(text, item.readings), "wrong_format": float(not announced)}
    if judges.qa is not None:
        read_off = judges.qa.answers([reading.question for reading in item.readings], text)
        values["disambig_f1"] = disambig_f1(read_off, item.readings)
    if judges.rouge is not None and item.references:
        values["rouge_l"] = judges.rouge.long_answer(text, item.references)
    return values


def _summary(item: Item, prediction: Prediction, judges: Judges) -> Values:
    text = output(prediction.text)
    values: Values = {}
    if judges.consistency is not None:
        values["unieval"] = judges.consistency.score(text, item.summary)
    if judges.entities is not None:
        shared = judges.entities.overlap(text, item.summary)
        values |= {"entity_f1": shared.f1, "entity_precision": shared.precision, "entity_recall": shared.recall}
    if judges.rouge is not None:
        values["rouge_l"] = judges.rouge.summary(text, item.references)
    return values
