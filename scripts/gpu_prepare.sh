#!/usr/bin/env bash
# Sourced by gpu-check: what the build needs beside a compiler and the CUDA Toolkit, for a machine without a network.
# Debian's packages, unpacked, and CMake from PyPI; no root is needed. Links become copies, so that any way of carrying
# the folder keeps them.
prepared_packages=(libcli11-dev nlohmann-json3-dev libzstd-dev libfmt-dev libpcre2-dev libzip-dev libyaml-dev pkgconf
  ninja-build coinor-libclp-dev coinor-libcoinutils-dev liblapack3 libblas3)
# Every machine with a C++ compiler has these; what else is here no one links.
never_prepared='^(libc6|libc6-dev|libc-dev|libgcc-s1|libstdc\+\+6|gcc-[0-9]+-base|libcrypt1|libpcre2-(16|32|posix).*|lib(lapack|blas|bz2)-dev|coinor-libosi.*|debconf.*|.*:.*|<.*>)$'
cmake_version=3.31.6
prepared_most_mb=64
multiarch=x86_64-linux-gnu

# The packages and what they depend on, one a line.
with_dependencies() {
  local -A seen=()
  local queue=("$@") package dependency
  while ((${#queue[@]})); do
    package=${queue[0]}
    queue=("${queue[@]:1}")
    [[ -z ${seen[$package]:-} ]] || continue
    seen[$package]=1
    printf '%s\n' "$package"
    while read -r dependency; do
      [[ $dependency =~ $never_prepared ]] || queue+=("$dependency")
    done < <(apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
      "$package" | sed -nE 's/^ *(Pre)?Depends: //p')
  done
}

download_cmake() {
  local to=$1
  if ! python3 -m pip --version > /dev/null 2>&1; then
    say "Without python3 and pip there is no CMake in it: the other machine needs $least_cmake or newer."
    return
  fi
  python3 -m pip download -q --no-deps --only-binary :all: --platform manylinux_2_17_x86_64 -d "$to" \
    "cmake==$cmake_version" || die "CMake was not downloaded"
  python3 -m zipfile -e "$to"/cmake-*.whl "$to/wheel"
}

# Of the root in $1: no documentation, one lib folder, no links.
flatten() {
  local folder=$1 link target
  rm -rf "$folder"/usr/share/{doc,man,lintian,bash-completion,zsh,bug,vim,emacs,info,doc-base,coin}
  rm -f "$folder"/usr/lib/$multiarch/libpcre2-{16,32,posix}.a # other archives are looked for by CMake's packages
  if [[ -d $folder/lib ]]; then
    cp -R "$folder/lib/." "$folder/usr/lib/"
    rm -rf "${folder:?}/lib"
  fi
  # Debian chooses among these with links that installing makes.
  for target in lapack blas; do
    cp -L "$folder/usr/lib/$multiarch/$target/lib$target.so.3" "$folder/usr/lib/$multiarch/"
    rm -rf "${folder:?}/usr/lib/$multiarch/$target"
  done
  rm -f "$folder"/usr/lib/$multiarch/lib{Clp,ClpSolver,OsiClp,CoinUtils}.a "$folder"/usr/lib/$multiarch/libOsi*
  while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    case $target in
      /lib/*) target=$folder/usr$target ;;
      /*) target=$folder$target ;;
      *) target=$(dirname "$link")/$target ;;
    esac
    # Through links of links, all within the folder.
    while [[ -L $target ]]; do target=$(dirname "$target")/$(readlink "$target"); done
    if [[ -f $target ]]; then cp --remove-destination "$target" "$link"; else rm "$link"; fi
  done < <(find "$folder" -type l -print0)
  # No one asks for these by their full version.
  rm -f "$folder"/usr/lib/$multiarch/lib{Clp,ClpSolver,CoinUtils,gfortran,quadmath}.so.*.*.*
}

write_pkg_config() {
  mkdir -p "$1/bin"
  cat > "$1/bin/pkg-config" << 'END'
#!/bin/sh
root=$(cd "$(dirname "$0")/.." && pwd)
lib=$root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH="$lib" PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_LIBDIR="$lib/pkgconfig:$root/usr/lib/pkgconfig:$root/usr/share/pkgconfig"
exec "$root/usr/bin/pkgconf" "$@"
END
  chmod +x "$1/bin/pkg-config"
}

# prepare DIR: DIR/root, DIR/packages.txt (checksum, file) and DIR/SHA256SUMS (of every file in root).
prepare() {
  local dir=$1 work mb
  command -v apt-get > /dev/null || die "--prepare takes packages from a Debian or Ubuntu system"
  command -v dpkg > /dev/null || die "dpkg is missing"
  mkdir -p "$dir" 2> /dev/null && [[ -w $dir ]] || die "$dir: no folder can be made there, or nothing written into it"
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  chmod 755 "$work"
  step "Downloading packages for $multiarch"
  local packages
  mapfile -t packages < <(with_dependencies "${prepared_packages[@]}")
  (cd "$work" && apt-get download -qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root "${packages[@]}") ||
    die "a package was not downloaded (apt-get update may help)"
  mkdir -p "$work/root/cmake/share"
  local deb
  for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/root"; done
  step "Downloading CMake $cmake_version"
  download_cmake "$work"
  flatten "$work/root"
  if [[ -d $work/wheel ]]; then
    mkdir -p "$work/root/cmake/bin"
    cp "$work"/wheel/cmake/data/bin/cmake "$work/root/cmake/bin/"
    cp -R "$work"/wheel/cmake/data/share/cmake-* "$work/root/cmake/share/"
    rm -rf "$work/root/cmake/share"/*/Help "$work/root/cmake/share"/*/Modules/Platform/{,Linker/}{AIX,Android,Apple,Darwin,Windows}*
    chmod +x "$work/root/cmake/bin/cmake"
  fi
  write_pkg_config "$work/root"
  mkdir -p "$dir"
  (cd "$work" && sha256sum ./*.deb ./*.whl 2> /dev/null | sed 's|\./||') > "$dir/packages.txt"
  rm -rf "$dir/root"
  cp -R "$work/root" "$dir/root"
  (cd "$dir/root" && find . -type f -print0 | sort -z | xargs -0 sha256sum) > "$dir/SHA256SUMS"
  mb=$(du -sm "$dir" | cut -f 1)
  ((mb < prepared_most_mb)) || die "$dir has $mb MB, not under $prepared_most_mb"
  say "$dir: $mb MB, $(wc -l < "$dir/packages.txt") packages, $(wc -l < "$dir/SHA256SUMS") files"
}
