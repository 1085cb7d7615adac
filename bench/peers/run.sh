#!/usr/bin/env bash
# Compares Braid with DuckDB, DataFusion and PostgreSQL on the TPC-H mix: sets up what the peers need, then compare.py.
# Arguments go to compare.py (--scale, --clients, --seconds, --engines). See README.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/braid"
venv="$cache/peers/venv"

if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/requirements.txt"
fi
if [[ -z "${BRAID:-}" ]]; then
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
    (cd "$here/../.." && cargo build --release --bin braid)
    export BRAID="$CARGO_TARGET_DIR/release/braid"
fi
exec "$venv/bin/python" "$here/compare.py" "$@"
