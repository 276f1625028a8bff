#!/usr/bin/env bash
# Sets up .venv beside this folder: bash scripts/setup.sh [EXTRA]. Run again it goes on where it stopped; once it is
# done it only compares a stamp. PYTHON names another Python than python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extra=${1:-}
stamp=.venv/flare-local-${extra:-base}.stamp
TORCH=$(grep '^torch==' constraints.txt)
CPU_BUILDS=https://download.pytorch.org/whl/cpu

say() { printf '[setup] %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

checked_python() {
  local python=${PYTHON:-python3}
  command -v "$python" >/dev/null || fail "There is no $python. Install Python 3.11 or newer, or name it: PYTHON=/path/to/python3.12"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is $("$python" --version 2>&1), and 3.11 is needed. Name a newer one: PYTHON=/path/to/python3.12"
  printf '%s' "$python"
}

# What was asked for, in one number: the stamp holds it, so that a changed pin is installed at the next start.
wanted() { .venv/bin/python -c 'import hashlib, sys; print(hashlib.sha256(b"".join(open(f, "rb").read() for f in sys.argv[1:])).hexdigest())' \
  pyproject.toml constraints.txt scripts/setup.sh; }

works() { .venv/bin/python -c 'import pip' 2>/dev/null; }

make_venv() {
  local python
  python=$(checked_python)
  say "Making .venv with $("$python" --version 2>&1)"
  if ! "$python" -m venv --clear .venv >&2 || ! works; then
    rm -rf .venv
    fail "$python cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv. Then run this again."
  fi
}

# On Linux PyPI's torch brings 2 GB of CUDA libraries; without an NVIDIA GPU the CPU build is wanted, where it can be had.
install_torch() {
  if [ "$(uname -s)" = Linux ] && [ "$(uname -m)" = x86_64 ] && ! command -v nvidia-smi >/dev/null; then
    say "Installing $TORCH, CPU build"
    pip_install --no-deps --retries 0 --timeout 15 --index-url "$CPU_BUILDS" "$TORCH" 2>/dev/null ||
      say "PyTorch's own CPU builds cannot be reached; taking $TORCH from PyPI"
  fi
  pip_install "$TORCH"
}

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" >&2; }

works || make_venv
if [ "$(cat "$stamp" 2>/dev/null)" = "$(wanted)" ]; then
  say ".venv is up to date"
  exit 0
fi
say "Installing $TORCH"
install_torch || fail "pip could not install $TORCH (above is why). Run this again: it goes on where it stopped."
say "Installing flare-local and what it needs (pyserini alone is 165 MB)"
pip_install --constraint constraints.txt --editable ".${extra:+[$extra]}" ||
  fail "pip could not install the dependencies (above is why). Run this again: it goes on where it stopped."
wanted >"$stamp"
say ".venv is ready"
