"""A server that does not give what policies need is refused before the first question, in one clear line."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from flare_local.engine.call import Call, Sampling
from flare_local.errors import ModelRefused, PromptTooLong, ServerFault, UsageError
from flare_local.http.client import Limits
from flare_local.http.patience import Patience
from flare_local.served.model import ServedModel
from tests.loopback import Asked, Faults, Said, serving
from tests.served.completions_server import NAME, CompletionsServer, chosen, events

QUICK = Patience(tries=3, first_s=0.01)
SHORT = Limits(silence_s=0.3, whole_s=2)


def connect(url: str, tokenizer: Path, name: str = NAME, **options: Any) -> ServedModel:
    return ServedModel.connect(url + "/v1", name, str(tokenizer), **{"patience": QUICK, "limits": SHORT, **options})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"no_logprobs": True}, "returns no token probabilities"),
        ({"shift": 0.5}, "log probability"),
        ({"second_best": True}, "most probable"),
        ({"id_shift": 1}, "with the tokenizer of --model"),
        ({"id_shift": 5000}, "does not have"),
        ({"usage": False, "form": "named"}, "counts None tokens"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], words: str, tokenizer: Path) -> None:
    with serving(CompletionsServer(**wrong)) as url, pytest.raises(ModelRefused, match=words):
        connect(url, tokenizer)


def test_the_wrong_tokenizer_is_found_out(tokenizer: Path) -> None:
    with serving(CompletionsServer(kind="metaspace")) as url, pytest.raises(ModelRefused, match="tokenizer of --model"):
        connect(url, tokenizer)


def test_a_model_that_is_not_served_is_told_with_those_that_are(tokenizer: Path) -> None:
    with serving(CompletionsServer()) as url, pytest.raises(ModelRefused, match="serves no model 'other', but tiny"):
        connect(url, tokenizer, "other")


@pytest.mark.parametrize("wrong", [{"ignores_bias": True}, {"after_bias": True}], ids=str)
def test_a_wrong_bias_is_found_out_before_the_first_biased_call(wrong: dict[str, bool], tokenizer: Path) -> None:
    with serving(CompletionsServer(**wrong)) as url, connect(url, tokenizer) as served:
        prompt = served.model.codec.encode("The town")
        asyncio.run(served.generate(Call(prompt, max_new_tokens=2)))
        with pytest.raises(ModelRefused, match="logit_bias"):
            asyncio.run(served.generate(Call(prompt, max_new_tokens=2, logit_bias={5: 2.0})))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (events(chosen(5, 0.7)), "log probability of 0.7"),
        (events(chosen(5, float("nan"))), "log probability of nan"),
        (events({"text": "x", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-1.0]}}), "without their tokens"),
        (events({"text": "x", "logprobs": {"tokens": ["zzzzqq"], "token_logprobs": [-1.0]}}), "no token"),
        (events(chosen(5, -1.0, token_ids=[5, 6])), "another number"),
        (events(chosen(5, -1.0, finish_reason="length")), "ended an answer after 1 of 4 tokens"),
        (b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
        (b'{"choices": [{"text": "not a stream"}]}', "does not stream"),
        (b"<html>a page</html>", "does not stream"),
        (b"data: 7\n\n", "unknown form"),
        (b'data: {"choices": [7]}\n\n', "unknown form"),
    ],
)
def test_later_answers_are_looked_at_too(body: bytes, words: str, tokenizer: Path) -> None:
    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        server.faults = [Said(body=body, kind="text/event-stream")] * 3
        with pytest.raises(ModelRefused, match=words):
            asyncio.run(served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=4)))


FAULTS = {
    "429": Said(429, headers={"Retry-After": "0"}),
    "500": Said(500, b"oops"),
    "503": Said(503),
    "broken JSON": Said(body=b"data: {broken\n\n", kind="text/event-stream"),
    "a cut stream": Said(body=[events(chosen(5, -0.1))], cut=True),
    "an ended stream": Said(body=events(chosen(5, -0.1)), kind="text/event-stream"),
    "nothing": Said(body=b"", cut=True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_may_pass_is_tried_again(fault: str, tokenizer: Path) -> None:
    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        call = Call(served.model.codec.encode("The town"), max_new_tokens=4)
        undisturbed = asyncio.run(served.generate(call))
        server.faults = [FAULTS[fault]] * 2
        assert asyncio.run(served.generate(call)).tokens == undisturbed.tokens
        server.faults = [FAULTS[fault]] * 3
        with pytest.raises(ServerFault, match="failed 3 times"):
            asyncio.run(served.generate(call))


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_what_will_not_pass_is_told_at_once(status: int, tokenizer: Path) -> None:
    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        asked = len(server.asked)
        server.faults = [Said(status, b'{"error": "no"}', headers={"Location": "http://elsewhere.example/"})]
        with pytest.raises(ServerFault, match=str(status)):
            asyncio.run(served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=4)))
        assert len(server.asked) == asked + 1


def test_a_silent_server_is_given_up(tokenizer: Path) -> None:
    import time

    def silent(asked: Asked) -> Said:
        time.sleep(1.0)
        return Said()

    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        server.then = silent
        with pytest.raises(ServerFault, match=r"silent for 0\.3 s"):
            asyncio.run(served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=4)))


def test_no_server_at_all_is_told(tokenizer: Path) -> None:
    with serving(CompletionsServer()) as url:
        pass
    with pytest.raises(ServerFault, match="Connection refused"):
        connect(url, tokenizer)


def test_an_endless_line_is_refused(tokenizer: Path) -> None:
    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        server.faults = [Said(body=(b"x" * 65536 for _ in range(1000)))]
        with pytest.raises(ServerFault, match="lines without an end"):
            asyncio.run(served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=4)))


def test_a_cancelled_call_ends_its_request_and_no_more_is_generated(tokenizer: Path) -> None:
    server = CompletionsServer()

    async def cancel(served: ServedModel) -> None:
        task = asyncio.ensure_future(
            served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=1500, stop=()))
        )
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serving(server) as url, connect(url, tokenizer) as served:
        asyncio.run(cancel(served))
    assert server.generated < 1000


def test_no_more_requests_than_asked_for_are_on_their_way(tokenizer: Path) -> None:
    server = CompletionsServer()

    async def many(served: ServedModel) -> None:
        call = Call(served.model.codec.encode("The town"), max_new_tokens=5)
        await asyncio.gather(*(served.generate(call) for _ in range(12)))

    with serving(server) as url, connect(url, tokenizer, at_once=3) as served:
        asyncio.run(many(served))
    assert server.most_at_once == 3


def test_what_cannot_be_served_is_told_before_any_request(tokenizer: Path) -> None:
    server = Faults(CompletionsServer(extra={"max_model_len": 100}))
    with serving(server) as url, connect(url, tokenizer) as served:
        asked = len(server.asked)
        for call, error in (
            (Call((5,) * 90, max_new_tokens=20), PromptTooLong),
            (Call((5,), sampling=Sampling(temperature=0.5)), UsageError),
        ):
            with pytest.raises(error):
                asyncio.run(served.generate(call))
        assert len(server.asked) == asked


SECRET = "sk-very-secret-1234"


def test_the_key_is_sent_and_never_shown(tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_LM_KEY", SECRET)
    server = Faults(CompletionsServer())
    with serving(server) as url, connect(url, tokenizer) as served:
        assert {asked.headers["Authorization"] for asked in server.asked} == {f"Bearer {SECRET}"}
        for said in (
            Said(401, f"wrong key {SECRET}".encode()),
            Said(400, f"wrong key {SECRET}".encode()),
            Said(body=f'data: {{"error": "key {SECRET}"}}\n\n'.encode()),
        ):
            server.faults = [said]
            with pytest.raises((ServerFault, ModelRefused), match=r"\*\*\*") as told:
                asyncio.run(served.generate(Call(served.model.codec.encode("The town"), max_new_tokens=4)))
            assert SECRET not in str(told.value)
        assert SECRET not in repr(served.__dict__)


@pytest.mark.parametrize("key", ["with\nnewline", "küy"])
def test_a_key_that_no_header_can_have_is_refused_unshown(
    key: str, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLARE_LM_KEY", key)
    with pytest.raises(UsageError, match="FLARE_LM_KEY") as told:
        connect("http://127.0.0.1:9", tokenizer)
    assert key not in str(told.value)


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://h:99999", "http://u:pw@h", "http://h/?q", "h:80"])
def test_a_broken_url_is_refused_without_its_password(url: str, tokenizer: Path) -> None:
    with pytest.raises(UsageError) as told:
        ServedModel.connect(url, NAME, str(tokenizer))
    assert "pw" not in str(told.value)
