#!/usr/bin/env bash
# Sets everything up and shows FLARE at work: bash scripts/demo.sh [--measure] [--limit N] [--json]
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
bash "$here/setup.sh"
exec "$here/../.venv/bin/flare-local" demo "$@"
