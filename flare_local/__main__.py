"""`python -m flare_local` is `flare-local`."""

from flare_local.cli import main

main()
