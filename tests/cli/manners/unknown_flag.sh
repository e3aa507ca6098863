#!/usr/bin/env bash
# A misspelt flag: exit 2, nothing on standard output, one line and a hint with the nearest flag.
for tool in $AFORE_TOOLS; do
  "$tool" --hepl > out 2> err
  echo "$? $(wc -c < out) $(wc -l < err)" | grep -qx '2 0 2' || echo "$tool: exit, stdout bytes, stderr lines"
  grep -qx "$tool: error: unknown option \"--hepl\"" err || cat err
  grep -qx "$tool: hint: did you mean --help? run \"$tool --help\"" err || cat err
  "$tool" --zzzzzzzzzzzz > out 2> err
  [[ $? == 2 ]] || echo "$tool: exit"
  grep -qx "$tool: hint: run \"$tool --help\"" err || cat err
done
exit 0
