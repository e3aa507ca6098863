#!/usr/bin/env bash
# Builds the Debian package, installs it into a clean Debian 12 and runs the pipe there, from the installed files alone.
# Usage: smoke.sh SOURCE_DIR BUILD_DIR. Exit 77: it cannot be tried here, with the reason.
# The clean system is made once by debootstrap and kept as build/debian12.tar.
set -euo pipefail
source_dir=$1 build_dir=$2
skip() {
  echo "$*"
  exit 77
}
((EUID == 0)) || skip "a clean system needs root"
for tool in cpack dpkg-deb dpkg-shlibdeps debootstrap chroot; do
  command -v "$tool" > /dev/null || skip "no $tool"
done

base=$source_dir/build/debian12.tar
mirror=http://deb.debian.org/debian
scratch=$(mktemp -d "$build_dir/package.XXXXXX")
root=$scratch/root
finish() {
  mountpoint -q "$root/proc" && umount "$root/proc"
  rm -rf --one-file-system "$scratch"
}
trap finish EXIT

# --- the package
cmake --build "$build_dir" --target man > "$scratch/man.log" 2>&1 || { tail "$scratch/man.log"; exit 1; }
(cd "$build_dir" && cpack -G DEB -B "$scratch/deb") > "$scratch/cpack.log" 2>&1 || { tail "$scratch/cpack.log"; exit 1; }
deb=$(echo "$scratch"/deb/*.deb)
[[ ${deb##*/} =~ ^afore_[0-9.]+-1_[a-z0-9]+\.deb$ ]] || { echo "a strange name: $deb"; exit 1; }
dpkg-deb --fsys-tarfile "$deb" | tar -t > "$scratch/files"
for file in usr/bin/afore-{trace,plan,serve,migrate} usr/share/man/man1/afore{,-trace,-plan,-serve,-migrate}.1.gz \
  usr/share/man/man5/afore-records.5.gz usr/share/bash-completion/completions/afore-{trace,plan,serve,migrate} \
  usr/share/zsh/vendor-completions/_afore usr/share/fish/vendor_completions.d/afore-plan.fish \
  usr/share/afore/models/tiny/config.json usr/share/afore/data/workloads/math.jsonl usr/share/doc/afore/copyright; do
  grep -qx "./$file" "$scratch/files" || { echo "the package lacks $file"; exit 1; }
done
if command -v lintian > /dev/null; then
  lintian --allow-root --fail-on error --tag-display-limit 0 "$deb" > "$scratch/lintian" 2>&1 || { cat "$scratch/lintian"; exit 1; }
fi

# --- a clean system
if [[ ! -e $base ]]; then
  debootstrap --variant=minbase bookworm "$scratch/base" "$mirror" > "$scratch/debootstrap.log" 2>&1 ||
    { tail -n 3 "$scratch/debootstrap.log"; skip "debootstrap failed: is there a network?"; }
  tar -C "$scratch/base" -cf "$base.$$" .
  mv "$base.$$" "$base"
fi
mkdir "$root"
tar -C "$root" -xf "$base"
cp "$deb" "$root/afore.deb"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
mount -t proc proc "$root/proc" 2> /dev/null || skip "no proc can be mounted here"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
[[ ! -e $root/usr/bin/afore-plan ]] || { echo "the system is not clean"; exit 1; }
in_root sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /afore.deb man-db' \
  > "$scratch/apt.log" 2>&1 || {
  grep -qE 'Temporary failure|Could not (resolve|connect)|Failed to fetch' "$scratch/apt.log" && skip "apt reached no mirror"
  tail "$scratch/apt.log"
  exit 1
}

# --- what was installed works, and finds what it needs
summary=$(in_root bash -euo pipefail -c 'afore-trace record --workload mixed --max-concurrency 12 --steps 4 |
  afore-plan --workers 4 --cost cpu | afore-serve replay --only summary')
[[ $summary == '{"kind":"summary",'*'"copies":'* ]] || { echo "no summary: $summary"; exit 1; }
answer=$(in_root afore-serve run --prompt 'int main(' --max-tokens 4 --json)
[[ $answer == *'"kind":"completion"'*'"output_tokens":4'* ]] || { echo "no answer: $answer"; exit 1; }
for page in afore afore-trace afore-plan afore-serve afore-migrate afore-records; do
  in_root man "$page" > "$scratch/page" 2> "$scratch/man.err" || { cat "$scratch/man.err"; exit 1; }
  grep -q 'SEE ALSO' "$scratch/page" || { echo "man $page shows no page"; exit 1; }
done
offered=$(in_root bash -c 'source /usr/share/bash-completion/completions/afore-plan
  COMP_WORDS=(afore-plan --polic) COMP_CWORD=1; _afore_plan; echo "${COMPREPLY[*]}"')
[[ $offered == '--policy' ]] || { echo "completion offers: $offered"; exit 1; }
in_root ldconfig -p | grep -q 'libafore.so.0 ' || { echo "the loader does not know libafore.so.0"; exit 1; }
in_root apt-get remove -y -qq afore > /dev/null 2>&1
[[ ! -e $root/usr/bin/afore-plan && ! -e $root/usr/share/afore ]] || { echo "removing it leaves files"; exit 1; }
