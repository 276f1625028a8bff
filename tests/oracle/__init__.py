"""The reference program: FLARE written from the paper and the rules, with nothing of `flare_local` in it.

It shares with the product only the tokenizer object and a search function. `docs/exactness.md` says what it proves.
"""
