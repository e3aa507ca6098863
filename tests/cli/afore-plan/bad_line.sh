#!/usr/bin/env bash
# A bad line in the middle: exit 3, one message, everything before it, nothing from it.
# (Primaries that are balanced on the warm-up depend on all of it: here they are not.)
STEPS=3 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-plan --primaries contiguous --workers 4 stream > whole
at=$(grep -n '"kind":"demand"' stream | sed -n '9s/:.*//p')
before=$(grep -n '"kind":"demand"' whole | sed -n '9s/:.*//p')
try() {
  sed "${at}$1" stream | afore-plan --primaries contiguous --workers 4 > out
  echo "= $?"
  grep -n -F -f <(sed -n "${at}p" <(sed "${at}$1" stream)) out
  # Up to the bad demand; its batch stood before it.
  cmp out <(head -n $((before - 1)) whole)
}
try 's/"counts":\[/"counts":[-/'
try 's/"tokens":/"tokens":1/'
try 's/"layer":1/"layer":77/'
try 's/.*/not json/'
try 's/}$//'
afore-plan --primaries contiguous --workers 4 < <(head -c 1000 stream) > out
echo "= $?"
