"""The devices that make an answer cheaper, each with the way to do without it."""

from dataclasses import dataclass, field, replace
from typing import Any

from flare_local.engine.speculation import MEASURED, NO_SPECULATION, Source, Speculation


@dataclass(frozen=True)
class Arm:
    """One way to answer: what its engine is made with, and what is put around model and index."""

    name: str
    engine: dict[str, Any] = field(default_factory=dict)  # arguments of `Setting.engine`
    early_stop: bool = True
    search_ms: float = 0.0  # added to every search
    search_ahead: bool = False


@dataclass(frozen=True)
class Device:
    """Its gain is what `off` costs, divided by what `on` costs."""

    name: str
    on: Arm
    off: Arm


def without(*sources: Source) -> Speculation:
    """Speculation from all other sources."""
    return Speculation(frozenset(Source) - set(sources))


ALL = Arm("everything on")


def devices(search_ms: float, on_gpu: bool) -> list[Device]:
    """`search_ms`: of the searches that are hidden. Kernels and CUDA graphs are devices only on a GPU,
    packed weights only on a CPU."""
    engines: dict[str, dict[str, Any]] = {
        "reuse of K and V": {"reuse": False},
        "speculation": {"speculation": NO_SPECULATION},
        "rejected draft": {"speculation": without(Source.DRAFT)},
        "re-alignment": {"speculation": without(Source.TAIL)},
        "n-grams": {"speculation": without(Source.SEEN)},
        "cost model": {"speculation": replace(MEASURED, measured=False)},
    }
    engines |= {"kernels and graphs": {"kernels": "torch"}} if on_gpu else {"packed weights": {"pack": False}}
    slow = Arm(f"{search_ms:g} ms added to a search", search_ms=search_ms)
    return [
        *(Device(name, ALL, Arm(f"no {name}", engine)) for name, engine in engines.items()),
        Device("early stop", ALL, Arm("no early stop", early_stop=False)),
        Device("hidden search", replace(slow, name=f"{slow.name}, hidden", search_ahead=True), slow),
    ]


def arms(chosen: list[Device]) -> list[Arm]:
    """Every arm once, in order."""
    return list({arm.name: arm for device in chosen for arm in (device.on, device.off)}.values())


def turned(items: list[Arm], by: int) -> list[Arm]:
    """The same in a circle, so that with every question another one is first."""
    at = by % len(items)
    return items[at:] + items[:at]
