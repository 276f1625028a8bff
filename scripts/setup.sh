#!/usr/bin/env bash
# Sets up .venv beside this folder: bash scripts/setup.sh [EXTRA]. Run again it goes on where it stopped; once it is
# done it only compares a stamp. PYTHON names another Python than python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
trap 'exit 130' INT # pip turns Ctrl-C into a plain failure, and the next step would begin

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

# What was asked for, in one number: the stamp holds it, so that after a changed pin or a moved folder pip runs again.
wanted() {
  .venv/bin/python - pyproject.toml constraints.txt scripts/setup.sh <<'END'
import hashlib, os, sys
contents = b"".join(open(file, "rb").read() for file in sys.argv[1:])
print(hashlib.sha256(os.fsencode(os.getcwd()) + contents).hexdigest())
END
}

is_set_up() {
  if [ -n "$extra" ]; then set -- "$stamp"; else set -- .venv/*.stamp; fi # whatever the extra, the base is in it
  grep -qsxF "$(wanted)" "$@"
}

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
    say "Installing $TORCH, the CPU build"
    pip_install --no-deps --retries 0 --timeout 15 --index-url "$CPU_BUILDS" "$TORCH" 2>/dev/null ||
      say "PyTorch's own CPU builds cannot be reached; taking $TORCH from PyPI"
  else
    say "Installing $TORCH"
  fi
  pip_install "$TORCH"
}

pip_install() { .venv/bin/python -m pip install -qq --disable-pip-version-check "$@" >&2; }

works || make_venv
if is_set_up; then
  say ".venv is up to date"
  exit 0
fi
install_torch || fail "pip could not install $TORCH (above is why). Run this again: it goes on where it stopped."
say "Installing flare-local and what it needs (pyserini alone is 165 MB)"
pip_install --constraint constraints.txt --editable ".${extra:+[$extra]}" ||
  fail "pip could not install the dependencies (above is why). Run this again: it goes on where it stopped."
wanted >"$stamp"
say ".venv is ready"
