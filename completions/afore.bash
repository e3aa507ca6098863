# bash completion for the afore tools. Made by scripts/generate-completions; edit the tools, not this file.
_afore_migrate() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path:$word" in
      ':calibrate') path='calibrate' ;;
    esac
  done
  case "$path:$prev" in
    ':--pattern') words='pairs fanout' ;;
    ':-b' | ':--minbytes' | ':-e' | ':--maxbytes' | ':-f' | ':--stepfactor' | ':-n' | ':--iters' | ':-w' | ':--warmup_iters' | ':-c' | ':--check' | ':--workers' | ':--seed' | ':-J' | ':--json_file') ;;
    'calibrate:--pattern') words='pairs fanout' ;;
    'calibrate:-b' | 'calibrate:--minbytes' | 'calibrate:-e' | 'calibrate:--maxbytes' | 'calibrate:-f' | 'calibrate:--stepfactor' | 'calibrate:-n' | 'calibrate:--iters' | 'calibrate:-w' | 'calibrate:--warmup_iters' | 'calibrate:-c' | 'calibrate:--check' | 'calibrate:--workers' | 'calibrate:--seed' | 'calibrate:--cost' | 'calibrate:-o' | 'calibrate:--output') ;;
    *)
      case "$path" in
        '') words='--version -h --help -b --minbytes -e --maxbytes -f --stepfactor -n --iters -w --warmup_iters -c --check --workers --pattern --seed -J --json_file -q --quiet calibrate' ;;
        'calibrate') words='-h --help -b --minbytes -e --maxbytes -f --stepfactor -n --iters -w --warmup_iters -c --check --workers --pattern --seed --cost -o --output --force -q --quiet' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _afore_migrate afore-migrate
