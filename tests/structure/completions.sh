#!/usr/bin/env bash
# The committed completions are what the tools print today; each shell that is installed parses its own and completes with
# it.
set -euo pipefail
source_dir=$1 build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$source_dir/scripts/generate-completions" "$build_dir/bin" "$scratch"
diff -r -u "$source_dir/completions" "$scratch" || { echo "run scripts/generate-completions"; exit 1; }
bash -n "$scratch/afore.bash"

# zsh completes in a terminal of its own, and a key shows what the line has become.
zsh_line() {  # zsh_line TEXT: the line after a tab behind it
  zsh -f -s -- "$scratch" "$1" << 'END'
zmodload zsh/zpty
zpty -b shell zsh -f -i
wait_for() {  # what the shell prints up to $1, in $seen
  local part
  seen=
  for ((i = 0; i < 600; ++i)); do
    while zpty -r -t shell part 2> /dev/null; do seen+=$part; done
    [[ $seen == *$1* ]] && return
    sleep 0.05
  done
  print -r -- "no $1 in: $seen" >&2
  exit 1
}
zpty -w shell "unsetopt zle_bracketed_paste; PS1= TERM=dumb; fpath=($1 \$fpath)"
zpty -w shell 'autoload -Uz compinit && compinit -u -D; show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show'
zpty -w shell 'bindkey "^I" complete-word; bindkey "^X" show; print read""y'
wait_for ready
zpty -w -n shell "$2"$'\t'
sleep 0.5
zpty -w -n shell $'\x18'
wait_for '>'
print -r -- "${${seen##*<}%%>*}"
zpty -d shell
END
}
if command -v zsh > /dev/null; then
  zsh -n "$scratch/_afore"
  [[ $(zsh_line 'afore-migrate cal') == 'afore-migrate calibrate ' ]]
  [[ $(zsh_line 'afore-migrate --pattern=f') == 'afore-migrate --pattern=fanout ' ]]
  [[ $(zsh_line 'afore-plan --gain-r') == 'afore-plan --gain-rule='* ]]
fi
if command -v fish > /dev/null; then
  fish -n "$scratch/afore.fish"
  fish_offers() { fish --no-config -c "source '$scratch/afore.fish'; complete -C '$1'" | cut -f 1 | sort | paste -sd ' '; }
  [[ $(fish_offers 'afore-migrate cal') == 'calibrate' ]]
  [[ $(fish_offers 'afore-migrate --pattern ') == 'fanout pairs' ]]
  [[ $(fish_offers 'afore-plan --gain-r') == '--gain-rule' ]]
fi

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
