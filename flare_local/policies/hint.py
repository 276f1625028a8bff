"""A hint at what is ambiguous about a question, written by the language model (paper, ASQA-hint)."""

from flare_local.engine.call import Call, LanguageModel, Paragraph
from flare_local.policies.prompt import side_prompt
from flare_local.policies.rules import Rules
from flare_local.tasks.hint_asking import BEGINNING, HINT_TOKENS, hint_case, hint_exemplars


async def write_hint(lm: LanguageModel, question: str) -> str:
    """One sentence on one line; empty where the model says nothing. Raises `PromptTooLong`, `PoolTooSmall`."""
    prompt = side_prompt(lm, hint_exemplars(), hint_case(question), Rules.paper(), HINT_TOKENS)
    written = await lm.generate(Call(prompt.ids, until=Paragraph(), max_new_tokens=HINT_TOKENS))
    said = written.text.strip().partition("\n")[0].strip()
    return f"{BEGINNING} {said}" if said else ""
