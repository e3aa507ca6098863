# Reads a stream; fails unless every demand sums to tokens * top_k and has tokens_per_target tokens.
# Prints how many demand and batch records there were. Variables: top_k, tokens_per_target.
/"kind":"batch"/ { ++batches }
/"kind":"demand"/ {
  ++demands
  match($0, /"tokens":[0-9]+/); tokens = substr($0, RSTART + 9, RLENGTH - 9) + 0
  match($0, /"counts":\[[0-9,]*\]/); n = split(substr($0, RSTART + 10, RLENGTH - 11), counts, ",")
  sum = 0
  for (i = 1; i <= n; ++i) { sum += counts[i]; if (counts[i] + 0 > tokens) bad = bad " count over tokens at " NR }
  if (sum != tokens * top_k) bad = bad " sum at line " NR
  if (tokens != tokens_per_target) bad = bad " tokens at line " NR
}
END {
  if (bad) { print "wrong:" bad; exit 1 }
  print demands " demands, " batches + 0 " batches"
}
