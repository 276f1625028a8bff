"""`flare-local` and `python -m flare_local`: the first code of the process."""

import signal

# Until `main` watches for it, an interrupt ends the process as it is: Python's own handler would show a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from flare_local.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
