#!/usr/bin/env bash
# Sourced by the scripts that try the program as a user types it; their first argument is its path. They work in
# an empty folder, and end with conclude.
# shellcheck disable=SC2034,SC2154,SC2317  # what the scripts that source it read and call
set -uo pipefail
learn=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/learn cli XXXXXX")  # with spaces, as folders have
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset LEARN_DATA
failed=0

# check TEXT CONDITION...: the condition is a command.
check() {
  local text=$1
  shift
  if "$@"; then return; fi
  echo "FAILED: $text"
  echo "  status $status"
  sed 's/^/  out: /' out; sed 's/^/  err: /' err
  failed=1
}
run() { "$learn" "$@" >out 2>err </dev/null; status=$?; }
exits() { [ "$status" = "$1" ]; }
says() { grep -qF -- "$1" out; }
complains() { grep -qF -- "$1" err; }
lacks_controls() { ! grep -qP '[\r\x1b]' out err; }

conclude() {
  [ "$failed" = 0 ] && echo "all passed"
  exit "$failed"
}
