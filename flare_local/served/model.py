"""A model that is served elsewhere, with the verbs of the engine: any completions server with token probabilities."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import nan
from time import perf_counter
from typing import Self, TypeVar

from flare_local.engine.call import Call, Generation
from flare_local.engine.counters import Counters
from flare_local.engine.output import Output
from flare_local.engine.text import ChatFrame, TextCodec
from flare_local.errors import ModelRefused, PromptTooLong, UsageError
from flare_local.http.address import Address
from flare_local.http.client import Client, Cut, Limits, Request
from flare_local.http.patience import Patience
from flare_local.http.secrets import key_from
from flare_local.served.completions import Completions
from flare_local.served.first_answer import FirstAnswer, check_bias, check_first, check_listed
from flare_local.served.tokenizer import LocalTokenizer, load_tokenizer
from flare_local.served.tokens import Untrue, Vocabulary

KEY = "FLARE_LM_KEY"  # environment variable
AT_ONCE = 16  # requests on their way; as questions in flare_local.api
CONTEXT = 4096  # tokens, where neither the model's files nor the server say more
DEFAULT_PATIENCE = Patience()
DEFAULT_LIMITS = Limits()
T = TypeVar("T")


@dataclass(frozen=True)
class ServedFacts:
    """What an answer says of the model that gave it."""

    name: str  # as the server calls it
    fingerprint: str  # 32 hexadecimal digits: name, tokenizer, and what the server wrote first
    codec: TextCodec
    context_length: int  # tokens of prompt and output together
    eos_ids: frozenset[int]
    dtype: str = "served"


class ServedModel:
    """Answers calls as the engine does, by requests to a server; made by `ServedModel.connect`."""

    def __init__(self, completions: Completions, facts: ServedFacts, first: FirstAnswer, at_once: int) -> None:
        self.model = facts
        self._completions = completions
        self._first = first
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="flare-served")
        self._on_their_way: set[Request] = set()
        self._bias_checked = False

    @classmethod
    def connect(
        cls,
        url: str,
        model: str,
        tokenizer: str,
        *,
        revision: str | None = None,
        context: int | None = None,
        trust_remote_code: bool = False,
        at_once: int = AT_ONCE,
        patience: Patience = DEFAULT_PATIENCE,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Self:
        """Connects to the completions server at `url` ("http://host:8000/v1") and checks its first answer.

        `model`: the name at the server. `tokenizer`: folder or hub name of the same model; no weights are read. The key
        is that of the environment variable FLARE_LM_KEY. Raises `ServerFault` where the server cannot be reached,
        `ModelRefused` where it does not give true token ids and probabilities, `ModelError`, `UsageError`.
        """
        if at_once < 1:
            raise UsageError(f"{at_once} requests at once are too few.", "Use 1 or more.")
        address = Address.read(url.removeprefix("openai:"), "--lm")
        client = Client("The model server", address, key_from(KEY), patience, limits)
        local = load_tokenizer(tokenizer, revision=revision, context=context, trust_remote_code=trust_remote_code)
        completions = Completions(client, model, Vocabulary(local.codec))
        try:
            listed = check_listed(client, model)
            first = check_first(completions, local.codec, local.eos_ids)
        except Untrue as untrue:
            raise _refused(client, untrue) from None
        return cls(completions, _facts(model, local, first, listed), first, at_once)

    @property
    def pool_use(self) -> None:
        """There is no pool here."""
        return None

    def question(self, question_id: str, chat: bool = False) -> "ServedQuestion":
        """The model as the policy of one question sees it; see `Engine.question`."""
        return ServedQuestion(self, question_id, self.model.codec.chat_frame() if chat else None)

    async def generate(self, call: Call) -> Generation:
        """Runs one call. Raises `PromptTooLong` and `UsageError` before any work, `ServerFault`, and `ModelRefused` for
        an answer without true ids and probabilities. Cancelled, it ends the request.
        """
        self._check_call(call)
        if call.logit_bias or call.banned:
            await self._check_bias()
        return await self._run(lambda request: self._generate(call, request))

    def close(self) -> None:
        """Ends the requests that are on their way."""
        for request in list(self._on_their_way):
            request.cut()
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _run(self, work: Callable[[Request], T]) -> T:
        request = Request()
        self._on_their_way.add(request)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, request)
        except Untrue as untrue:
            raise _refused(self._completions.client, untrue) from None
        except (asyncio.CancelledError, Cut):
            request.cut()
            raise asyncio.CancelledError from None
        finally:
            self._on_their_way.discard(request)

    async def _check_bias(self) -> None:
        """Once, before the first call with a bias; calls that come meanwhile check too, which does no harm."""
        if not self._bias_checked:
            await self._run(lambda _: check_bias(self._completions, self._first))
            self._bias_checked = True

    def _check_call(self, call: Call) -> None:
        if call.sampling.temperature:
            raise UsageError("A served model answers greedily.", "Leave out --temperature.")
        needed = len(call.prompt) + call.max_new_tokens
        if needed > self.model.context_length:
            raise PromptTooLong(
                f"A prompt of {len(call.prompt)} tokens and {call.max_new_tokens} new ones do not fit the context of "
                f"{self.model.name}: {self.model.context_length} tokens.",
                "Use fewer or shorter exemplars, a smaller --top-k, or a model with a longer context.",
            )

    def _generate(self, call: Call, request: Request) -> Generation:
        prompt = self._first.prompt(call.prompt)
        return self._completions.client.trying(lambda again: self._once(call, prompt, again), request)

    def _once(self, call: Call, prompt: list[int] | str, request: Request) -> Generation:
        began = perf_counter()
        output = Output(call, self.model.codec, self.model.eos_ids)
        asked = replace(call, max_new_tokens=output.left)
        ended = None
        pieces = self._completions.stream(request, asked, prompt)
        try:
            for piece in pieces:
                for token in piece.tokens:
                    if output.done:
                        break
                    if not call.logit_bias and not call.banned and not token.is_best:
                        raise Untrue("does not choose the most probable token, though it was asked to")
                    output.push(token.id, token.probability)
                ended = piece.ended or ended
                if output.done:
                    break
        finally:
            pieces.close()  # type: ignore[attr-defined]
        unseen = not output.done
        if unseen:
            if ended != "stop":
                raise Untrue(f"ended an answer after {len(output.tokens)} of {asked.max_new_tokens} tokens ({ended})")
            output.push(min(self.model.eos_ids), nan)  # an end whose token the server does not show
        counters = Counters(calls=1, prompt_tokens=len(call.prompt), total_ms=(perf_counter() - began) * 1000)
        generation = output.generation(counters)
        return replace(generation, eos_probability=None) if unseen else generation


@dataclass
class ServedQuestion:
    """A `LanguageModel` for one question; see `flare_local.engine.engine.Question`."""

    served: ServedModel
    id: str
    frame: ChatFrame | None = None
    counters: Counters = field(default_factory=Counters)
    calls: int = 0

    @property
    def codec(self) -> TextCodec:
        return self.served.model.codec

    @property
    def bos(self) -> tuple[int, ...]:
        return self.codec.bos if self.frame is None else self.frame.head

    @property
    def tail(self) -> tuple[int, ...]:
        return () if self.frame is None else self.frame.tail

    @property
    def context_length(self) -> int:
        return self.served.model.context_length

    async def generate(self, call: Call) -> Generation:
        """Runs the call as this question's next; see `LanguageModel`."""
        call = replace(call, question=self.id, index=self.calls)
        self.calls += 1
        generation = await self.served.generate(call)
        self.counters.add(generation.counters)
        return generation


def _facts(model: str, local: LocalTokenizer, first: FirstAnswer, listed: int | None) -> ServedFacts:
    told = [model, local.content, [token.id for token in first.tokens]]
    limits = [limit for limit in (local.context_length, listed) if limit is not None]
    return ServedFacts(
        name=model,
        fingerprint=sha256(repr(told).encode()).hexdigest()[:32],
        codec=local.codec,
        context_length=min(limits, default=CONTEXT),
        eos_ids=local.eos_ids,
    )


def _refused(client: Client, untrue: Untrue) -> ModelRefused:
    text = client.credentials.struck(f"The model server at {client.address} {untrue}.")
    return ModelRefused(text, "docs/served.md says what a server must give, and how known ones are started.")
