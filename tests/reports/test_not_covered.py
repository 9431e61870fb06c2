"""What models leave open, as a public page lists it: sentences of their own, each said once."""

from __future__ import annotations

from itertools import combinations

from rrpolicy.discovery import load_registry
from rrpolicy.reports.findings import model_caveats

WITHOUT_A_SUBJECT = ("It ", "This ", "He ", "Who ", "The number", "That is")


def every() -> dict[str, tuple[str, ...]]:
    """Return the sentences of each model and of each measure beside one."""
    models = load_registry(()).privacy_models
    names = [name for model in models.values() for name in (model.name, *getattr(model, "measures", {}))]
    return {name: model_caveats(name, models) for name in names}


def test_every_sentence_names_what_it_speaks_of():
    found = every()

    assert "attribute-disclosure/best-guess" in found
    assert not [text for texts in found.values() for text in texts if text.startswith(WITHOUT_A_SUBJECT)]
    assert not [text for texts in found.values() for text in texts if ": that he " in text or "this one" in text]


def test_the_same_is_said_in_the_same_words():
    """Two models of one policy list it once; of several releases each number composes by a law of its own."""
    texts = {text for each in every().values() for text in each}
    heads = [(text.partition(":")[0].rstrip("."), text) for text in texts]
    twice = {one for (one, _), (other, _) in combinations(heads, 2) if one == other}

    assert twice <= {
        "Other releases of the same people",
        "Disclosure by a description that is derived from this table, and by the existence of the release",
        "Finding a person's record",
    }
    assert sum("more than one record" in text or "more records" in text for text in texts) == 1
    assert all(sum("eople with" in text for text in each) <= 1 for each in every().values())
