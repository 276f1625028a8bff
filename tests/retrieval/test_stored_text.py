"""Title and text out of what an index stores."""

import pytest

from flare_local.retrieval.stored_text import title_and_text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Plain text, no JSON.", ("", "Plain text, no JSON.")),
        ("{looks like JSON but is not", ("", "{looks like JSON but is not")),
        ("[1, 2]", ("", "[1, 2]")),
        ('{"id": "1", "title": "T", "text": "x"}', ("T", "x")),
        ('{"id": "1", "title": null, "contents": "x"}', ("", "x")),
        ('{"id": "1", "title": "T", "contents": "Other\\nx"}', ("T", "Other\nx")),
        ('{"id": "1", "contents": "\\"A \\"quoted\\" name\\"\\nx\\ny"}', ('A "quoted" name', "x\ny")),
        ('{"id": "1", "contents": "\\"Only a quote.\\" she said"}', ("", '"Only a quote." she said')),
        ('{"docid": "1", "segment": "x", "title": "T"}', ("T", "x")),
        ('{"id": "1", "text": ""}', ("", "")),
        ('{"id": "1", "other": 5}', ("", '{"id": "1", "other": 5}')),
    ],
)
def test_every_known_layout(raw: str, expected: tuple[str, str]) -> None:
    assert title_and_text(raw) == expected
