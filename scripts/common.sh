#!/usr/bin/env bash
# What the scripts share: packages, configure, build. Source it; it sets `root` and moves nowhere.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(g++ cmake ninja-build libcli11-dev nlohmann-json3-dev libzstd-dev libfmt-dev libpcre2-dev
  libzip-dev libyaml-dev coinor-libclp-dev coinor-libcoinutils-dev libboost-dev prometheus-cpp-dev pkg-config jq)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev zstd coinor-cbc)
# Tests that need one of these are skipped without it.
check_packages=(ccache clang-format clang-tidy zsh fish mandoc dpkg-dev debootstrap lintian chromium python3 python3-yaml
  python3-venv curl)
tools=(afore-trace afore-plan afore-serve afore-migrate)

# With ccache, a second clone in another folder finds tests that the first one compiled; of rooms and tools only in
# presets that compile their sources one at a time, as CMake's sources of several name files by their whole path.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }
die() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    die "these packages are missing and neither root nor sudo is at hand: ${missing[*]}"
  fi
}

# install_packages NAME...: those that are missing, and nothing when none is.
install_packages() {
  if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    say "Not a Debian system: install the like of ${*} yourself if the build misses them."
    return
  fi
  local package
  missing=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2> /dev/null) == 'install ok installed' ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  step "Installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

# configure PRESET [CMAKE_ARGUMENT...]
configure() {
  local preset=$1 log
  shift
  log=$root/build/$preset.configure.log
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset "$preset" "$@") > "$log" 2>&1 || {
    tail -n 30 "$log" >&2
    die "configuring failed, see $log"
  }
}

# build PRESET [TARGET...]: the compiler's words on standard error, so that standard output stays the script's own.
build() {
  local preset=$1
  shift
  (cd "$root" && cmake --build --preset "$preset" ${1:+--target "$@"}) >&2 || die "building failed"
}
