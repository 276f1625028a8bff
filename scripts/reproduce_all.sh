#!/usr/bin/env bash
# Makes every table and figure of the paper at full size; says first how long it will take on this machine.
#   bash scripts/reproduce_all.sh OUT --model MODEL --index INDEX --data 2wiki=FILE [--data TASK=FILE ...] [OPTIONS]
# OPTIONS are those of `flare-local reproduce` (--hints, --qa-model, --task-index, --limit, --schedule ...).
# Stopped or killed, the same command goes on where it was.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 1 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
out=$1
shift
bash "$here/setup.sh"
flare="$here/../.venv/bin/flare-local"

echo "Measuring a few questions of each row ..." >&2
"$flare" reproduce all --out "$out" "$@" --dry-run
exec "$flare" reproduce all --out "$out" "$@"
