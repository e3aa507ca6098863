#!/usr/bin/env bash
# --help and --version of every tool, and --help of every command: standard output, exit 0.
for tool in $AFORE_TOOLS; do
  for flag in --help -h --version; do
    "$tool" $flag > out 2> err || echo "$tool $flag: exit $?"
    [[ -s out ]] || echo "$tool $flag: nothing on standard output"
    [[ -s err ]] && cat err
  done
  [[ $("$tool" --version) =~ ^$tool\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || echo "$tool: odd version"
  "$tool" --help | grep -q -- '--print-completion' && echo "$tool: shows what is hidden"
  for command in $("$tool" --print-completion=fish | sed -nE 's/.* -a ([a-z-]+) -d .*/\1/p'); do
    "$tool" "$command" --help > out 2> err || echo "$tool $command --help: exit $?"
    [[ -s out && ! -s err ]] || echo "$tool $command --help: wrong stream"
  done
done
exit 0
