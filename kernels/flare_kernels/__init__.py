"""GPU kernels of flare_local, one kernel with its wrapper and its torch reference a file."""
