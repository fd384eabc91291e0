#!/usr/bin/env bash
# Drives one agent that others wrote through the daemon, as `make test-live` does with all of them.
set -euo pipefail
exec "$(dirname "$0")/../live/agents/run.sh" --only claude
