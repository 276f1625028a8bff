"""The floor of calls, counted by hand."""

import torch

from tests.oracle.floor import ForwardMeter, TokenTrie
from tests.tiny_models import tiny_model


def test_floor_counts_every_prefix_once():
    trie = TokenTrie()
    assert trie.add([1, 2, 3]) == 3
    assert trie.add([1, 2, 3]) == 0
    assert trie.add([1, 2, 4, 5]) == 2
    assert trie.add_calls([((1, 2), (4, 5, 6)), ((9,), ())]) == 2


def test_meter_counts_what_goes_through_the_model():
    model = tiny_model("gpt2")
    meter = ForwardMeter(model)
    model(input_ids=torch.ones(1, 7, dtype=torch.long))
    model(torch.ones(2, 3, dtype=torch.long))
    meter.close()
    model(input_ids=torch.ones(1, 7, dtype=torch.long))
    assert (meter.tokens, meter.forwards) == (13, 2)
