"""Random programs: every method on many tiny models, product against oracle. `python -m tests.fuzz` runs many."""
