#!/usr/bin/env bash
# --help and --version of every tool, and --help of every command: standard output, exit 0.
for tool in $AFORE_TOOLS; do
  for flag in --help -h --version; do
    "$tool" $flag > out 2> err || echo "$tool $flag: exit $?"
    [[ -s out ]] || echo "$tool $flag: nothing on standard output"
    [[ -s err ]] && cat err
  done
  [[ $("$tool" --version) =~ ^$tool\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || echo "$tool: odd version"
  "$tool" --help | grep -q -- '--print-' && echo "$tool: shows what is hidden"
  for command in $("$tool" --print-completion=fish | sed -nE 's/.* -a ([a-z-]+) -d .*/\1/p'); do
    "$tool" "$command" --help > out 2> err || echo "$tool $command --help: exit $?"
    [[ -s out && ! -s err ]] || echo "$tool $command --help: wrong stream"
    grep -qx 'Other options:' out && echo "$tool $command: an option under no head: tools/common/option_groups.cc"
    awk -v of="$tool $command" 'length > 80 { print of " --help: " length " columns: " $0 }' out
    COLUMNS=200 "$tool" "$command" --help > wide
    awk -v of="$tool $command" 'length > 100 { print of " --help: " length " columns: " $0 }' wide
    (($(wc -l < wide) <= $(wc -l < out))) || echo "$tool $command --help: longer where there is more room"
    cmp -s out <(COLUMNS=20 "$tool" "$command" --help) || echo "$tool $command --help: narrower than 80 columns"
  done
done
exit 0
