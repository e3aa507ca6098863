# From the tables of `experiments/policies traces`: how far afore is ahead of the best other policy on each trace. Exit 1
# where it is more than 0.5 % behind. Usage: awk -F "|" -f experiments/ahead.awk TABLES
/^##+ /{t=$0; sub(/^##+ /,"",t)}
/^\| (policy|:)/{next}
NF>6{p=$2; gsub(/^ +| +$/,"",p); gsub(/ /,"",$4); if(p=="afore") a[t]=$4+0; else if(p !~ /ideal/ && $4+0>m[t]) {m[t]=$4+0; w[t]=p}}
END{for(t in a){d=(a[t]/m[t]-1)*100; printf "%s: %+.2f %% against %s\n", t, d, w[t]; if(d < -0.5) bad=1} exit bad}
