"""The first answer of a server, looked at closely: are its ids and probabilities what policies take them for?"""

from dataclasses import dataclass
from typing import Any

from flare_local.engine.call import Call
from flare_local.engine.text import TextCodec
from flare_local.http.client import Client, Refused, Request
from flare_local.served.completions import Completions
from flare_local.served.tokens import Token, Untrue

OPENING = "The harbour bridge was opened in the year"  # what the first answer continues
TOKENS = 8  # of the first answer
SURE = -0.7  # a log probability that only one token of a place can have (above one half)


@dataclass(frozen=True)
class FirstAnswer:
    """What it showed."""

    codec: TextCodec
    asked: tuple[int, ...]
    tokens: tuple[Token, ...]
    takes_ids: bool  # prompts go as token ids, else as text

    def prompt(self, ids: tuple[int, ...]) -> list[int] | str:
        """A prompt as this server takes it. Raises `Untrue` where its text would not be read as these ids."""
        return list(ids) if self.takes_ids else as_text(ids, self.codec)


def check_listed(client: Client, model: str) -> int | None:
    """The context that the server lists for `model`, if it does. Raises `Untrue` where it lists other models only."""
    status, said = client.ask_json("GET", "/models", allowed=(400, 404, 405))
    entries = said.get("data") if isinstance(said, dict) else None
    if status != 200 or not isinstance(entries, list):
        return None
    found: dict[str, Any] = {str(entry.get("id")): entry for entry in entries if isinstance(entry, dict)}
    if found and model not in found:
        raise Untrue(f"serves no model {model!r}, but {', '.join(sorted(found)[:5])} (--lm-model)")
    limit = found.get(model, {}).get("max_model_len")  # vLLM, SGLang
    return limit if isinstance(limit, int) and limit > 0 else None


def check_first(completions: Completions, codec: TextCodec, eos_ids: frozenset[int]) -> FirstAnswer:
    """Asks for a few tokens, by ids or else by text, and checks all that can be checked. Raises `Untrue`."""
    asked = codec.bos + codec.encode(OPENING)
    try:
        return FirstAnswer(codec, asked, _first(completions, codec, eos_ids, asked, list(asked)), takes_ids=True)
    except (Refused, Untrue) as by_ids:
        try:
            tokens = _first(completions, codec, eos_ids, asked, as_text(asked, codec))
        except Refused:
            raise by_ids from None
        except Untrue as by_text:
            raise (by_text if isinstance(by_ids, Refused) else by_ids) from None  # of the two, the more telling
        return FirstAnswer(codec, asked, tokens, takes_ids=False)


def check_bias(completions: Completions, first: FirstAnswer) -> None:
    """Does a bias change the choice and leave the probabilities alone? Raises `Untrue`."""
    other = next(token for token in first.asked[::-1] if token != first.tokens[0].id)
    biased = Call(first.asked, max_new_tokens=1, logit_bias={other: 100.0})
    pieces = _read(completions, biased, first.prompt(first.asked))[0]
    if not pieces or pieces[0].id != other:
        raise Untrue("does not follow logit_bias, which this method needs")
    if pieces[0].log > SURE:
        raise Untrue("returns probabilities after logit_bias; this method needs those before it")


def as_text(ids: tuple[int, ...], codec: TextCodec) -> str:
    """The text that the model's tokenizer reads as `ids`, BOS left to the server. Raises `Untrue` if there is none."""
    bos = codec.bos
    rest = ids[len(bos) :] if ids[: len(bos)] == bos else ids
    text = codec.tokenizer.decode(list(rest), skip_special_tokens=False, clean_up_tokenization_spaces=False)
    if tuple(codec.tokenizer(text, verbose=False)["input_ids"]) != ids:
        raise Untrue("takes prompts as text only, and this prompt's text would be read as other tokens")
    return str(text)


def _first(
    completions: Completions, codec: TextCodec, eos_ids: frozenset[int], asked: tuple[int, ...], prompt: list[int] | str
) -> tuple[Token, ...]:
    tokens, text, read, counted = _read(completions, Call(asked, max_new_tokens=TOKENS), prompt)
    if read is not None and read != asked:
        raise Untrue("reads a prompt as other tokens than the tokenizer of --model")
    if read is None and counted != len(asked):
        raise Untrue(f"counts {counted} tokens in a prompt where the tokenizer of --model counts {len(asked)}")
    if not tokens or len(tokens) > TOKENS:
        raise Untrue(f"returns {len(tokens)} tokens where {TOKENS} were asked for")
    kept = [token.id for token in tokens if token.id not in eos_ids]
    if not _agree(codec.decode(tuple(kept)), text, codec, eos_ids):
        raise Untrue(f"says {text!r} in tokens that read {codec.decode(tuple(kept))!r} with the tokenizer of --model")
    if not all(token.is_best for token in tokens):
        raise Untrue("does not choose the most probable token, though it was asked to")
    return tokens


def _read(
    completions: Completions, call: Call, prompt: list[int] | str
) -> tuple[tuple[Token, ...], str, tuple[int, ...] | None, int | None]:
    """A whole answer: tokens, text, what the prompt was read as, and how long it was."""

    def once(request: Request) -> tuple[tuple[Token, ...], str, tuple[int, ...] | None, int | None]:
        pieces = list(completions.stream(request, call, prompt))
        read = next((piece.prompt_ids for piece in pieces if piece.prompt_ids is not None), None)
        counted = next((piece.prompt_tokens for piece in pieces if piece.prompt_tokens is not None), None)
        tokens = tuple(token for piece in pieces for token in piece.tokens)
        return tokens, "".join(piece.text for piece in pieces), read, counted

    return completions.client.trying(once)


def _agree(ours: str, theirs: str, codec: TextCodec, eos_ids: frozenset[int]) -> bool:
    """Whether two texts of the same tokens agree; a server may leave out blanks in front and half a character's bytes,
    and may write out the token that ended its answer."""
    for token in eos_ids:
        theirs = theirs.removesuffix(codec.decode((token,)))
    ours, theirs = (text.rstrip("\ufffd").lstrip() for text in (ours, theirs))
    return ours == theirs
