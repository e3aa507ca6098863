#!/usr/bin/env bash
# Every shell script parses and is executable.
set -euo pipefail
cd "$1"
bad=0
while IFS= read -r -d '' file; do
  [[ $(head -c 19 "$file" | tr -d '\0') == '#!/usr/bin/env bash' ]] || continue
  bash -n "$file" || bad=1
  [[ -x $file ]] || { echo "$file: not executable"; bad=1; }
done < <(find .ci scripts tests experiments -type f -print0 2> /dev/null)
exit "$bad"
