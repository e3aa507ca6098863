#!/usr/bin/env bash
# Only the three shells; each script names its tool.
for tool in $AFORE_TOOLS; do
  for shell in bash zsh fish; do
    "$tool" "--print-completion=$shell" | grep -q "${tool//-/[-_]}" || echo "$tool: no $shell completion"
  done
  "$tool" --print-completion=csh > out 2> err
  [[ $? == 2 && ! -s out ]] || echo "$tool: took csh"
  grep -q '"csh" is not one of bash, zsh, fish' err || cat err
done
exit 0
