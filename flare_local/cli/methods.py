"""`flare-local methods`: the ways to answer, each with its source and its options."""

from flare_local.policies.methods import METHODS


def methods() -> None:
    """List the methods that --method takes."""
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        print(f"{name:<{width}}  {method.line} ({method.source})")
        if method.options:
            print(f"{'':<{width}}  {' '.join('--' + option.replace('_', '-') for option in method.options)}")
