#!/usr/bin/env bash
# Sets everything up and runs the tests: bash scripts/test.sh [--full] [PYTEST OPTIONS]
# --full runs those marked slow too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh test
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} # the tests' models are tiny: a second thread costs more than it brings
export HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-1}
# Two workers, a file to each: the meters of the exactness suite count over a whole file.
exec .venv/bin/python -m pytest -n 2 --dist loadfile "$@"
