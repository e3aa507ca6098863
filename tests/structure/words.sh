#!/usr/bin/env bash
# No file names a folder of the machine it was written on.
set -euo pipefail
cd "$1"
t=tmp w=work h=home r=root  # not spelt out, so that this file does not find itself
found=0
grep -rnIE "(^|[^[:alnum:]_.\$}/-])/($t|$w|$h|$r)/[[:alnum:]]" --exclude-dir=.git --exclude=.git --exclude-dir=build . || found=$?
[[ $found == 1 ]]  # grep: nothing found
