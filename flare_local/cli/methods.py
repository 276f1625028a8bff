"""`flare-local methods`: the ways to answer, one line each."""

from flare_local.policies.methods import METHODS


def methods() -> None:
    """List the methods that --method takes."""
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        print(f"{name:<{width}}  {method.line} ({method.source})")
