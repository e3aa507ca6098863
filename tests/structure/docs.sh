#!/usr/bin/env bash
# The pages name what exists: paths of the tree, flags, members of classes; on docs/walk.md each function and type is in
# the file named before it; docs/README.md names every page. Then mistakes are planted, and each must be found.
set -euo pipefail
cd "$1"
pages=(README.md CONTRIBUTING.md docs/*.md)
bad=0
wrong() {
  echo "$*"
  bad=1
}

# Of other repositories, with whose names they stand; of a build or an installed tree.
not_ours='^(docs/optimization/static-eplb-vllm\.md|data/profiling/compute|scripts/models|lib/afore)$'
folders='lib|tools|tests|docs|scripts|kernels|bench|experiments|data|models|cmake|completions'
check_paths() {  # check_paths PAGE
  local path glob
  while IFS= read -r path; do
    [[ ! $path =~ $not_ours ]] || continue
    glob=$(sed -E 's/\b[A-Z]{2,}\b/*/g; s/\.+$//' <<< "$path")  # SOURCE.txt stands for any
    if [[ $glob == *'{'* ]]; then glob=$(sed -E 's/\{[^}]*\}/*/' <<< "$glob"); fi
    compgen -G "$glob" > /dev/null || compgen -G "$glob.h" > /dev/null || wrong "$1: there is no $path"
  done < <(grep -oP "(?<![\w./~:\$}-])($folders)/[\w./{},*-]*[\w}*]" "$1" | sort -u)
}

# Of cmake, pkg-config, curl and other programs that the pages call, and of the engines they speak of.
foreign=' --coverage --build --install --prefix --preset --parallel --component --cflags --libs --pid --itsv --opprint
  --gtest_filter --gtest_output --init-expert-location --enable-waterfill --ep-num-redundant-experts
  --expert-distribution-recorder-mode '
ours=$(grep -oE -- ' -l [a-zA-Z0-9_-]+' completions/afore.fish | sed 's/ -l /--/' | sort -u)
check_flags() {  # check_flags PAGE: flags of the tools, or of our scripts and benchmarks
  local flag
  while IFS= read -r flag; do
    grep -qxF -e "$flag" <<< "$ours" && continue
    [[ ! $foreign =~ [[:space:]]$flag[[:space:]] ]] || continue
    grep -rqE --exclude-dir=structure -e "(^|[^-[:alnum:]])$flag([^-[:alnum:]]|\$)" \
      scripts bench experiments tests tools lib/c/python || wrong "$1: nothing takes $flag"
  done < <(grep -oP '(?<![-\w<])--[a-z][\w-]*' "$1" | sort -u)
}

code() { sed 's://.*$::' "$1"; }
defines() {  # defines FILE NAME: a function `Class::name`, `name()`, or a type
  local class=${2%::*} name=${2##*::}
  class=${class##*::}
  case $2 in
    *::*)
      code "$1" | grep -E "^[A-Za-z].*\b$2\(" > /dev/null ||
        { code "$1" | grep -E "\b(class|struct) $class\b" && code "$1" | grep -E "^ +[A-Za-z].*\b$name\("; } > /dev/null
      ;;
    *'()') code "$1" | grep -E "^[A-Za-z].*\b${2%??}\(" > /dev/null ;;
    *) code "$1" | grep -E "\b(class|struct) $2\b" > /dev/null ;;
  esac
}
check_names() {  # check_names PAGE
  local token file=
  while IFS= read -r token; do
    case $token in
      --* | */) ;;  # looked up above; a folder
      --*' '*) ;;
      */*) if [[ -f $token ]]; then file=$token; else wrong "$1: there is no file $token"; fi ;;
      *::* | *'()' | [A-Z]*)
        if [[ -z $file ]] || ! defines "$file" "$token"; then wrong "$1: ${file:-no file} has no $token"; fi
        ;;
      *) grep -qx "## $token" docs/records.md || wrong "$1: \`$token\` is no path, function, type or record" ;;
    esac
  done < <(grep -v '^    ' "$1" | tr '\n' ' ' | grep -oP '`[^`]+`' | tr -d '`')
}

check_members() {  # check_members PAGE: `Class::name`, wherever that is
  local token class
  while IFS= read -r token; do
    grep -rqwF -e "$token" lib tools && continue
    class=${token%::*}
    grep -rlE "\b(class|struct|enum class) $class\b" lib tools | xargs -r grep -lw -e "${token##*::}" > /dev/null ||
      wrong "$1: there is no $token"
  done < <(grep -oP '`[A-Z]\w*(::\w+)+(?=[`(])' "$1" | tr -d '`' | sort -u)
}

for page in "${pages[@]}"; do
  check_paths "$page"
  check_members "$page"
  check_flags "$page"
done
check_names docs/walk.md
for page in docs/*.md; do
  [[ $page == docs/README.md ]] || grep -qF "(${page#docs/})" docs/README.md || wrong "docs/README.md: no $page"
done
((bad == 0)) || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
expect() {  # expect FROM TO CHECK MESSAGE: in walk.md, with FROM written as TO
  sed "s#$1#$2#" docs/walk.md > "$scratch/walk.md"
  ! cmp -s docs/walk.md "$scratch/walk.md" || { echo "nothing to plant: $1"; exit 1; }
  local out
  out=$("$3" "$scratch/walk.md")
  [[ $out == *"$4"* ]] || { echo "not found: $2, but: $out"; exit 1; }
}
expect 'Planner::plan`' 'Planner::on_demand`' check_names 'has no Planner::on_demand'
expect 'FfnWorker::can_release`' 'FfnWorker::may_release`' check_names 'has no FfnWorker::may_release'
expect 'RecordStream::next`' 'RecordStream::following`' check_names 'has no RecordStream::following'
expect 'count_experts()' 'count_expert()' check_names 'has no count_expert()'
expect 'LayerState`' 'StateOfLayer`' check_names 'has no StateOfLayer'
expect '`observed`' '`observe`' check_names '`observe` is no path'
expect 'lib/pipeline/plan_ring.cc' 'lib/pipeline/ring.cc' check_names 'no file lib/pipeline/ring.cc'
expect 'lib/pipeline/plan_ring.cc' 'lib/pipeline/ring.cc' check_paths 'no lib/pipeline/ring.cc'
expect 'FfnWorker::on_plan`' 'FfnWorker::on_planed`' check_members 'no FfnWorker::on_planed'
expect '`--policy`' '`--polices`' check_flags 'nothing takes --polices'
