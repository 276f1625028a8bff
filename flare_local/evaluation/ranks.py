"""Several processes that share one evaluation, as `accelerate launch` and `torchrun` start them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from flare_local.errors import FlareError, UsageError

PATIENCE = timedelta(days=14)  # that one process waits for the others; gloo counts milliseconds in 31 bits


@dataclass(frozen=True)
class Ranks:
    """This process among `size`. All of them call `wait` equally often."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that merges and judges."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here. Raises `FlareError` where one of them has ended."""
        if self.size == 1:
            return
        import torch.distributed

        try:
            torch.distributed.barrier()
        except RuntimeError as error:
            raise FlareError(
                f"Another process of this evaluation has ended ({str(error).splitlines()[0]}).",
                "What was answered is on the disk; the same command goes on.",
            ) from None


def join_ranks(environment: Mapping[str, str] = os.environ) -> Ranks:
    """This process's place, by RANK and WORLD_SIZE. Raises `UsageError` where they make no sense."""
    try:
        ranks = Ranks(int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1")))
    except ValueError:
        raise UsageError("RANK and WORLD_SIZE of the environment are not whole numbers.") from None
    if not 0 <= ranks.rank < ranks.size:
        raise UsageError(f"RANK is {ranks.rank} and WORLD_SIZE is {ranks.size}.", "Ranks count from 0.")
    if ranks.size > 1:
        if "MASTER_ADDR" not in environment or "MASTER_PORT" not in environment:
            raise UsageError(
                "WORLD_SIZE is set, but not MASTER_ADDR and MASTER_PORT.",
                "Start the processes with `accelerate launch -m flare_local eval ...` or `torchrun`.",
            )
        import torch.distributed

        torch.distributed.init_process_group("gloo", timeout=PATIENCE)
    return ranks


def own_device(device: str, environment: Mapping[str, str] = os.environ) -> str:
    """The device of this process: with `auto` each process of a machine takes a GPU of its own."""
    if device != "auto" or environment.get("WORLD_SIZE", "1") == "1":
        return device
    import torch

    if not torch.cuda.is_available():
        return device
    return f"cuda:{int(environment.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
