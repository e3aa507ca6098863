#!/usr/bin/env bash
# The committed completions are what the tools print today, and each shell that is installed can parse its own.
set -euo pipefail
source_dir=$1 build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$source_dir/scripts/generate-completions" "$build_dir/bin" "$scratch"
diff -r -u "$source_dir/completions" "$scratch" || { echo "run scripts/generate-completions"; exit 1; }
bash -n "$scratch/afore.bash"
if command -v zsh > /dev/null; then zsh -n "$scratch/_afore"; fi
if command -v fish > /dev/null; then fish -n "$scratch/afore.fish"; fi

# bash offers what it should: a flag's values, and flags by their start.
source "$scratch/afore.bash"
offer() {  # offer FUNCTION WORDS...: completions of the last word
  local function=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  "$function"
  echo "${COMPREPLY[*]}"
}
[[ $(offer _afore_migrate afore-migrate --pattern '') == 'pairs fanout' ]]
[[ $(offer _afore_migrate afore-migrate --pattern = f) == 'fanout' ]]
[[ $(offer _afore_migrate afore-migrate cal) == 'calibrate' ]]
[[ $(offer _afore_migrate afore-migrate calibrate --for) == '--force' ]]
