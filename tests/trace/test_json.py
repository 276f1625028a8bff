"""The object of `--json`, as docs/json.md describes it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from flare_local.engine.call import Generation
from flare_local.errors import FlareError
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.no_retrieval import no_retrieval
from flare_local.trace.events import Answer
from flare_local.trace.json import answer_line, answer_object
from tests.policies.scripted import ScriptedRetriever, ask, says


def an_answer(script: list[Generation] | None = None) -> Answer:
    """One sentence that was searched for and written again, one confident one."""
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada": ["A.", "B."]})
    script = script or [says(" Ada", 0.9, " hm", 0.3), says(" Ada fell.", 0.8), says(" End.", 0.9, stop="eos", eos=0.7)]
    answer, _ = ask(flare_direct, script, retriever)
    return answer


def written(answer: Answer, full: bool = False) -> Any:
    return json.loads(answer_line(answer, full))


def test_an_answer_has_these_keys() -> None:
    assert list(written(an_answer())) == [
        "question", "method", "schedule", "answer", "stop_reason", "search", "steps", "counters", "question_counters",
        "config", "versions",
    ]  # fmt: skip


def test_a_step_that_searched_shows_draft_query_documents_and_sentence() -> None:
    step = written(an_answer())["steps"][0]
    assert step["draft"]["text"] == " Ada hm"
    assert step["draft"]["tokens"] == [" Ada", " hm"]
    assert step["draft"]["probabilities"] == [0.9, 0.3]
    assert (step["triggered"], step["accepted"]) == (True, False)
    assert step["queries"] == ["Ada"]
    assert step["documents"] == [
        {"id": "d-A.", "title": "", "score": 9.0, "rank": 1},
        {"id": "d-B.", "title": "", "score": 8.0, "rank": 2},
    ]
    assert step["sentence"]["text"] == " Ada fell."
    assert step["prompt_tokens"]["sentence"] > step["prompt_tokens"]["draft"] > 0
    assert set(step["ms"]) == {"draft", "search", "sentence", "total"}


def test_a_confident_step_has_one_branch_and_no_search() -> None:
    step = written(an_answer())["steps"][1]
    assert (step["triggered"], step["accepted"]) == (False, True)
    assert step["sentence"] == step["draft"]
    assert step["sentence"]["eos_probability"] == 0.7
    assert (step["queries"], step["documents"]) == ([], [])
    assert step["prompt_tokens"]["sentence"] is None
    assert (step["ms"]["search"], step["ms"]["sentence"]) == (None, None)


def test_the_question_s_own_search_stands_apart() -> None:
    assert written(an_answer())["search"]["queries"] == ["Who?"]
    plain, _ = ask(no_retrieval, [says(" One.", 0.9, stop="eos")])
    assert written(plain)["search"] is None
    assert written(plain)["steps"][0]["draft"] is None


def test_the_full_object_has_every_call_with_its_prompt() -> None:
    answer = an_answer()
    calls = written(answer, full=True)["calls"]
    assert [call["prompt"] for call in calls] == [list(writing.prompt) for writing in answer.writings]
    assert [call["limit"] for call in calls] == [64] * 3
    assert calls[1]["documents"] == ["d-A.", "d-B."]
    assert calls[0]["ids"] == list(answer.writings[0].tokens)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_named_not_written(bad: float) -> None:
    script = [says(" Ada", 0.9, stop="eos")]
    answer = an_answer(script)
    generation = replace(answer.steps[0].sentence.generation, probabilities=(bad,))
    step = replace(answer.steps[0], sentence=replace(answer.steps[0].sentence, generation=generation))
    with pytest.raises(FlareError, match=r"steps\[0\]\.sentence\.probabilities\[0\] is (nan|inf)"):
        answer_line(replace(answer, steps=(step,)))


def test_a_line_is_ascii_whatever_the_texts_hold() -> None:
    line = answer_line(an_answer([says(" \x1b[31m\u202e漢\ud800\n", 0.9, stop="eos")]))
    assert line.isascii()
    assert "\x1b" not in line
    assert "\n" not in line
    assert json.loads(line)["answer"] == "\x1b[31m\u202e漢\ud800"


def test_config_and_versions_are_json_values() -> None:
    value = answer_object(an_answer())
    assert value["config"] == json.loads(json.dumps(value["config"]))
    assert value["versions"] == json.loads(json.dumps(value["versions"]))
