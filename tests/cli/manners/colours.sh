#!/usr/bin/env bash
# Labels are coloured on a terminal only; NO_COLOR goes before CLICOLOR_FORCE, and both before the terminal.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
esc=$'\e'
on_terminal() { script -qec "$*" /dev/null < /dev/null; }
unset NO_COLOR CLICOLOR_FORCE
export TERM=xterm
for tool in $AFORE_TOOLS; do
  coloured="$tool: $esc[1;31merror:$esc[0m unknown option"
  plain="$tool: error: unknown option"
  [[ $("$tool" --hepl 2>&1) == "$plain"* ]] || echo "$tool: coloured in a file"
  [[ $(on_terminal "$tool" --hepl) == "$coloured"*"$esc[1;36mhint:$esc[0m did you mean"* ]] || echo "$tool: no colours on a terminal"
  [[ $(NO_COLOR=1 on_terminal "$tool" --hepl) == "$plain"* ]] || echo "$tool: NO_COLOR"
  [[ $(NO_COLOR='' on_terminal "$tool" --hepl) == "$coloured"* ]] || echo "$tool: an empty NO_COLOR is none"
  [[ $(CLICOLOR_FORCE=1 "$tool" --hepl 2>&1) == "$coloured"* ]] || echo "$tool: CLICOLOR_FORCE"
  [[ $(CLICOLOR_FORCE=0 "$tool" --hepl 2>&1) == "$plain"* ]] || echo "$tool: CLICOLOR_FORCE=0"
  [[ $(NO_COLOR=1 CLICOLOR_FORCE=1 "$tool" --hepl 2>&1) == "$plain"* ]] || echo "$tool: NO_COLOR goes first"
done
# What the input holds stays escaped beside our own colours.
[[ $(CLICOLOR_FORCE=1 afore-plan $'--\e[32mx' 2>&1) == *'\x1B[32mx'* ]] || echo "raw control characters"
exit 0
