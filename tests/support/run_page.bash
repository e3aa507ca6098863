# Sourced: runs the commands of a page and compares what they print with what the page shows.
# In ```console blocks, lines that begin with "$ " are commands, lines that begin with "> " go on with them; the lines
# below are their output, standard error included. A block marked ```console varies runs, and its output may differ.
# With UPDATE_PAGE=FILE the page is written there with what the commands print now.
run_page() {
  local page=$1 mode='' command='' expected='' line blocks=0 failed=0 new=''
  finish() {  # the command read last, against the lines below it
    [[ -n $command ]] || return 0
    local seen status=0
    seen=$(eval "$command" 2>&1) || status=$?
    if [[ $mode == exact && $seen != "${expected%$'\n'}" ]]; then
      printf '%s: another output than the page has:\n$ %s\n' "$page" "$command"
      diff <(printf '%s\n' "${expected%$'\n'}") <(printf '%s\n' "$seen")
      failed=1
    elif [[ $mode == varies && $status != 0 ]]; then
      printf '%s: exit %d\n$ %s\n%s\n' "$page" "$status" "$command" "$seen"
      failed=1
    fi
    new+="$ ${command//$'\n'/$'\n> '}"$'\n'${seen:+$seen$'\n'}
    command='' expected=''
  }
  while IFS= read -r line; do
    if [[ -z $mode ]]; then
      new+=$line$'\n'
      [[ $line == '```console' ]] && mode=exact
      [[ $line == '```console varies' ]] && mode=varies
      [[ -z $mode ]] || blocks=$((blocks + 1))
    else
      case $line in
        '```') finish; mode='' new+=$line$'\n' ;;
        '$ '*) finish; command=${line#'$ '} ;;
        '> '*) command+=$'\n'${line#'> '} ;;
        *) expected+=$line$'\n' ;;
      esac
    fi
  done < "$page"
  [[ -z ${UPDATE_PAGE:-} ]] || printf '%s' "$new" > "$UPDATE_PAGE"
  ((blocks > 0)) || { echo "$page: no blocks"; failed=1; }
  return "$failed"
}
