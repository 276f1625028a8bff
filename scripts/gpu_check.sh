#!/usr/bin/env bash
# Checks and measures everything that needs a GPU, in under five minutes, on a machine with nothing but Python, torch,
# transformers, safetensors and triton: bash scripts/gpu_check.sh [--out FOLDER] [--rehearse]
# Without a GPU it rehearses: the same on tiny sizes, kernels in Triton's interpreter, times that mean nothing.
# Figures go to FOLDER (else $OUT, else out/gpu_check) one by one as they are taken. PYTHON names another Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
if [ -z "${PYTHON:-}" ] && [ -x .venv/bin/python ]; then python=.venv/bin/python; fi
export PYTHONPATH=.:kernels${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
exec "$python" -m benchmarks.gpu "$@"
