# bash completion for the afore tools. Made by scripts/generate-completions; edit the tools, not this file.
_afore_migrate() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path:$word" in
      ':overlap') path='overlap' ;;
      ':calibrate') path='calibrate' ;;
    esac
  done
  case "$path:$prev" in
    ':--pattern') words='pairs fanout' ;;
    ':--device') words='cpu cuda auto' ;;
    ':--sm-partitions') words='auto off' ;;
    ':-b' | ':--minbytes' | ':-e' | ':--maxbytes' | ':-f' | ':--stepfactor' | ':-n' | ':--iters' | ':-w' | ':--warmup_iters' | ':-c' | ':--check' | ':--workers' | ':--seed' | ':--path' | ':-T' | ':--timeout' | ':--min-bw' | ':-J' | ':--json_file') ;;
    'overlap:--pattern') words='pairs fanout' ;;
    'overlap:--device') words='cpu cuda auto' ;;
    'overlap:--sm-partitions') words='auto off' ;;
    'overlap:--model' | 'overlap:--hidden' | 'overlap:--intermediate' | 'overlap:--tile-tokens' | 'overlap:--tokens' | 'overlap:--experts' | 'overlap:--copies' | 'overlap:--workers' | 'overlap:--threads' | 'overlap:-n' | 'overlap:--iters' | 'overlap:-w' | 'overlap:--warmup_iters' | 'overlap:--seed' | 'overlap:--path' | 'overlap:-T' | 'overlap:--timeout' | 'overlap:-J' | 'overlap:--json_file') ;;
    'calibrate:--pattern') words='pairs fanout' ;;
    'calibrate:--device') words='cpu cuda auto' ;;
    'calibrate:--sm-partitions') words='auto off' ;;
    'calibrate:-b' | 'calibrate:--minbytes' | 'calibrate:-e' | 'calibrate:--maxbytes' | 'calibrate:-f' | 'calibrate:--stepfactor' | 'calibrate:-n' | 'calibrate:--iters' | 'calibrate:-w' | 'calibrate:--warmup_iters' | 'calibrate:-c' | 'calibrate:--check' | 'calibrate:--workers' | 'calibrate:--seed' | 'calibrate:--path' | 'calibrate:-T' | 'calibrate:--timeout' | 'calibrate:--model' | 'calibrate:--hidden' | 'calibrate:--intermediate' | 'calibrate:--tile-tokens' | 'calibrate:--experts' | 'calibrate:--tiles' | 'calibrate:--threads' | 'calibrate:--cost' | 'calibrate:-o' | 'calibrate:--output') ;;
    *)
      case "$path" in
        '') words='--version -h --help -b --minbytes -e --maxbytes -f --stepfactor -n --iters -w --warmup_iters -c --check --workers --pattern --seed --device --path --sm-partitions -T --timeout --min-bw -J --json_file --json -q --quiet overlap calibrate' ;;
        'overlap') words='-h --help --model --hidden --intermediate --tile-tokens --tokens --experts --copies --workers --pattern --threads -n --iters -w --warmup_iters --seed --device --path --sm-partitions -T --timeout -J --json_file --json -q --quiet' ;;
        'calibrate') words='-h --help -b --minbytes -e --maxbytes -f --stepfactor -n --iters -w --warmup_iters -c --check --workers --pattern --seed --device --path --sm-partitions -T --timeout --model --hidden --intermediate --tile-tokens --experts --tiles --threads --cost -o --output --force -q --quiet' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _afore_migrate afore-migrate
_afore_plan() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path:$word" in
      ':verify') path='verify' ;;
      ':advise') path='advise' ;;
      ':ratio') path='ratio' ;;
      ':place') path='place' ;;
      ':export') path='export' ;;
      ':check') path='check' ;;
    esac
  done
  case "$path:$prev" in
    ':--recover') words='strict tail skip' ;;
    ':--policy') words='static afore joined paper balanced split ideal eplb llep quota metro lplb harmoeny lina libra fastermoe director annealing' ;;
    ':--split') words='own exact' ;;
    ':--demand-source') words='prefetch last_step window prediction' ;;
    ':--objective') words='time tiles' ;;
    ':--gain-rule') words='on off' ;;
    ':--overlap') words='on off' ;;
    ':--level') words='on off' ;;
    ':--primaries') words='auto contiguous balanced' ;;
    ':--only') words='header sequence request batch demand routing prediction placement plan observed operation membership completion summary' ;;
    ':--layers-ahead' | ':--workers' | ':--worker' | ':--pin-experts' | ':--slots' | ':--tile-tokens' | ':--attention-workers' | ':--microbatches' | ':--top-k' | ':--model' | ':--cost' | ':--copy-budget' | ':--window-us' | ':--window-steps' | ':--plan-budget-nodes' | ':--eplb-interval' | ':--eplb-step-bytes' | ':--eplb-groups' | ':--eplb-nodes' | ':--init' | ':--balance-steps' | ':--predictor' | ':--explain') ;;
    'verify:--recover') words='strict tail skip' ;;
    'advise:--recover') words='strict tail skip' ;;
    'advise:--split') words='own exact' ;;
    'advise:--demand-source') words='prefetch last_step window prediction' ;;
    'advise:--objective') words='time tiles' ;;
    'advise:--gain-rule') words='on off' ;;
    'advise:--overlap') words='on off' ;;
    'advise:--level') words='on off' ;;
    'advise:--primaries') words='auto contiguous balanced' ;;
    'advise:--links') words='own shared' ;;
    'advise:--policies' | 'advise:--history-steps' | 'advise:--evaluate-steps' | 'advise:--min-gain' | 'advise:--confidence' | 'advise:--layers-ahead' | 'advise:--workers' | 'advise:--worker' | 'advise:--pin-experts' | 'advise:--slots' | 'advise:--tile-tokens' | 'advise:--attention-workers' | 'advise:--microbatches' | 'advise:--top-k' | 'advise:--model' | 'advise:--cost' | 'advise:--copy-budget' | 'advise:--window-us' | 'advise:--window-steps' | 'advise:--plan-budget-nodes' | 'advise:--eplb-interval' | 'advise:--eplb-step-bytes' | 'advise:--eplb-groups' | 'advise:--eplb-nodes' | 'advise:--init' | 'advise:--balance-steps' | 'advise:--kv-tokens') ;;
    'ratio:--recover') words='strict tail skip' ;;
    'ratio:--workers' | 'ratio:--batch' | 'ratio:--context' | 'ratio:--tile-tokens' | 'ratio:--top-k' | 'ratio:--model' | 'ratio:--cost') ;;
    'place:--recover') words='strict tail skip' ;;
    'place:--policy') words='balanced eplb' ;;
    'place:--workers' | 'place:--slots' | 'place:--redundant-experts' | 'place:--eplb-groups' | 'place:--eplb-nodes' | 'place:--model' | 'place:--experts' | 'place:--hidden-layers' | 'place:--moe-layers' | 'place:--expert-bytes') ;;
    'export:--recover') words='strict tail skip' ;;
    'export:--to') words='sglang vllm trtllm ascend eplb eplb-npy' ;;
    'export:-o' | 'export:--output' | 'export:--map-version' | 'export:--model-class' | 'export:--layer-updates-per-iter' | 'export:--model' | 'export:--experts' | 'export:--hidden-layers' | 'export:--moe-layers' | 'export:--expert-bytes') ;;
    'check:--for') words='sglang vllm trtllm ascend eplb' ;;
    'check:--workers' | 'check:--model-class' | 'check:--model' | 'check:--experts' | 'check:--hidden-layers' | 'check:--moe-layers' | 'check:--expert-bytes') ;;
    *)
      case "$path" in
        '') words='--version -h --help --recover --policy --split --demand-source --layers-ahead --objective --workers --worker --pin-experts --slots --tile-tokens --attention-workers --microbatches --top-k --model --cost --copy-budget --window-us --window-steps --plan-budget-nodes --gain-rule --overlap --level --eplb-interval --eplb-step-bytes --eplb-groups --eplb-nodes --init --primaries --balance-steps --no-duplicates --predictor --only --explain --summary --timing --replan --allow-drop -q --quiet verify advise ratio place export check' ;;
        'verify') words='-h --help --recover --json -q --quiet' ;;
        'advise') words='-h --help --recover --policies --history-steps --evaluate-steps --min-gain --confidence --json --split --demand-source --layers-ahead --objective --workers --worker --pin-experts --slots --tile-tokens --attention-workers --microbatches --top-k --model --cost --copy-budget --window-us --window-steps --plan-budget-nodes --gain-rule --overlap --level --eplb-interval --eplb-step-bytes --eplb-groups --eplb-nodes --init --primaries --balance-steps --no-duplicates --kv-tokens --links --replan --allow-drop -q --quiet' ;;
        'ratio') words='-h --help --recover --workers --batch --context --tile-tokens --top-k --model --cost --json -q --quiet' ;;
        'place') words='-h --help --recover --workers --slots --redundant-experts --policy --eplb-groups --eplb-nodes --no-duplicates --allow-drop --model --experts --hidden-layers --moe-layers --expert-bytes -q --quiet' ;;
        'export') words='-h --help --recover --to -o --output --force --fill --map-version --model-class --layer-updates-per-iter --model --experts --hidden-layers --moe-layers --expert-bytes -q --quiet' ;;
        'check') words='-h --help --for --workers --model-class --json --model --experts --hidden-layers --moe-layers --expert-bytes -q --quiet' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _afore_plan afore-plan
_afore_serve() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path:$word" in
      ':replay') path='replay' ;;
      ':compare') path='compare' ;;
      ':run') path='run' ;;
      ':http') path='http' ;;
      ':calibrate') path='calibrate' ;;
    esac
  done
  case "$path:$prev" in
    'replay:--recover') words='strict tail skip' ;;
    'replay:--host') words='sim' ;;
    'replay:--topology') words='afd colocated' ;;
    'replay:--dispatch') words='routed broadcast' ;;
    'replay:--links') words='own shared' ;;
    'replay:--policy') words='static afore joined paper balanced split ideal eplb llep quota metro lplb harmoeny lina libra fastermoe director annealing' ;;
    'replay:--split') words='own exact' ;;
    'replay:--demand-source') words='prefetch last_step window prediction' ;;
    'replay:--objective') words='time tiles' ;;
    'replay:--gain-rule') words='on off' ;;
    'replay:--overlap') words='on off' ;;
    'replay:--level') words='on off' ;;
    'replay:--primaries') words='auto contiguous balanced' ;;
    'replay:--only') words='header sequence request batch demand routing prediction placement plan observed operation membership completion summary' ;;
    'replay:--kv-tokens' | 'replay:--copy-chunk' | 'replay:--faults' | 'replay:--fault-seed' | 'replay:--max-num-seqs' | 'replay:--max-num-batched-tokens' | 'replay:--kv-budget-tokens' | 'replay:--max-queue' | 'replay:--max-queue-ms' | 'replay:--timeout-s' | 'replay:--duration-s' | 'replay:--goodput' | 'replay:--report' | 'replay:--layers-ahead' | 'replay:--workers' | 'replay:--worker' | 'replay:--pin-experts' | 'replay:--slots' | 'replay:--tile-tokens' | 'replay:--attention-workers' | 'replay:--microbatches' | 'replay:--top-k' | 'replay:--model' | 'replay:--cost' | 'replay:--copy-budget' | 'replay:--window-us' | 'replay:--window-steps' | 'replay:--plan-budget-nodes' | 'replay:--eplb-interval' | 'replay:--eplb-step-bytes' | 'replay:--eplb-groups' | 'replay:--eplb-nodes' | 'replay:--init' | 'replay:--balance-steps' | 'replay:--predictor') ;;
    'compare:--recover') words='strict tail skip' ;;
    'compare:--host') words='sim' ;;
    'compare:--topology') words='afd colocated' ;;
    'compare:--dispatch') words='routed broadcast' ;;
    'compare:--links') words='own shared' ;;
    'compare:--split') words='own exact' ;;
    'compare:--demand-source') words='prefetch last_step window prediction' ;;
    'compare:--objective') words='time tiles' ;;
    'compare:--gain-rule') words='on off' ;;
    'compare:--overlap') words='on off' ;;
    'compare:--level') words='on off' ;;
    'compare:--primaries') words='auto contiguous balanced' ;;
    'compare:--format') words='table json' ;;
    'compare:--kv-tokens' | 'compare:--copy-chunk' | 'compare:--faults' | 'compare:--fault-seed' | 'compare:--max-num-seqs' | 'compare:--max-num-batched-tokens' | 'compare:--kv-budget-tokens' | 'compare:--max-queue' | 'compare:--max-queue-ms' | 'compare:--timeout-s' | 'compare:--duration-s' | 'compare:--goodput' | 'compare:--report' | 'compare:--layers-ahead' | 'compare:--workers' | 'compare:--worker' | 'compare:--pin-experts' | 'compare:--slots' | 'compare:--tile-tokens' | 'compare:--attention-workers' | 'compare:--microbatches' | 'compare:--top-k' | 'compare:--model' | 'compare:--cost' | 'compare:--copy-budget' | 'compare:--window-us' | 'compare:--window-steps' | 'compare:--plan-budget-nodes' | 'compare:--eplb-interval' | 'compare:--eplb-step-bytes' | 'compare:--eplb-groups' | 'compare:--eplb-nodes' | 'compare:--init' | 'compare:--balance-steps' | 'compare:--predictor' | 'compare:--policies' | 'compare:--summaries') ;;
    'run:--workload') words='conversation documents code math mixed' ;;
    'run:--host') words='threads monolithic' ;;
    'run:--device') words='cpu cuda auto' ;;
    'run:--sm-partitions') words='auto off' ;;
    'run:--policy') words='static afore joined paper balanced split ideal eplb llep quota metro lplb harmoeny lina libra fastermoe director annealing' ;;
    'run:--demand-source') words='prefetch last_step window' ;;
    'run:--objective') words='time tiles' ;;
    'run:--gain-rule') words='on off' ;;
    'run:--level') words='on off' ;;
    'run:--combine') words='exact partial' ;;
    'run:--isa') words='auto avx512bf16 avx2 scalar' ;;
    'run:--model' | 'run:--weights' | 'run:--layers' | 'run:--prompt' | 'run:--prompts' | 'run:--trace' | 'run:--rate-scale' | 'run:--num-prompts' | 'run:--max-tokens' | 'run:--temperature' | 'run:--top-p' | 'run:--seed' | 'run:--stop' | 'run:--ffn-workers' | 'run:--attention-workers' | 'run:--microbatches' | 'run:--slots' | 'run:--copy-budget' | 'run:--window-us' | 'run:--eplb-interval' | 'run:--cost' | 'run:--sizes' | 'run:--tile-tokens' | 'run:--threads' | 'run:--max-concurrency' | 'run:--deadline-s' | 'run:--max-num-seqs' | 'run:--max-num-batched-tokens' | 'run:--kv-budget-tokens' | 'run:--max-queue' | 'run:--max-queue-ms' | 'run:--timeout-s' | 'run:--duration-s' | 'run:--goodput' | 'run:--record' | 'run:--report') ;;
    'http:--device') words='cpu cuda auto' ;;
    'http:--sm-partitions') words='auto off' ;;
    'http:--policy') words='static afore joined paper balanced split ideal eplb llep quota metro lplb harmoeny lina libra fastermoe director annealing' ;;
    'http:--demand-source') words='prefetch last_step window' ;;
    'http:--objective') words='time tiles' ;;
    'http:--gain-rule') words='on off' ;;
    'http:--level') words='on off' ;;
    'http:--combine') words='exact partial' ;;
    'http:--isa') words='auto avx512bf16 avx2 scalar' ;;
    'http:--model' | 'http:--weights' | 'http:--layers' | 'http:--listen' | 'http:--port' | 'http:--token-file' | 'http:--ready-file' | 'http:--served-model-name' | 'http:--max-connections' | 'http:--drain-s' | 'http:--ffn-workers' | 'http:--attention-workers' | 'http:--microbatches' | 'http:--slots' | 'http:--copy-budget' | 'http:--window-us' | 'http:--eplb-interval' | 'http:--cost' | 'http:--sizes' | 'http:--tile-tokens' | 'http:--threads' | 'http:--max-concurrency' | 'http:--deadline-s' | 'http:--max-num-seqs' | 'http:--max-num-batched-tokens' | 'http:--kv-budget-tokens' | 'http:--max-queue' | 'http:--max-queue-ms' | 'http:--timeout-s' | 'http:--duration-s' | 'http:--goodput' | 'http:--inject') ;;
    'calibrate:--recover') words='strict tail skip' ;;
    'calibrate:--cost' | 'calibrate:--name' | 'calibrate:-o' | 'calibrate:--output') ;;
    *)
      case "$path" in
        '') words='--version -h --help -q --quiet replay compare run http calibrate' ;;
        'replay') words='-h --help --recover --host --kv-tokens --ignore-plans --topology --dispatch --links --copy-chunk --faults --fault-seed --max-num-seqs --max-num-batched-tokens --kv-budget-tokens --max-queue --max-queue-ms --timeout-s --duration-s --goodput --report --allow-drop --policy --split --demand-source --layers-ahead --objective --workers --worker --pin-experts --slots --tile-tokens --attention-workers --microbatches --top-k --model --cost --copy-budget --window-us --window-steps --plan-budget-nodes --gain-rule --overlap --level --eplb-interval --eplb-step-bytes --eplb-groups --eplb-nodes --init --primaries --balance-steps --no-duplicates --predictor --only --timeline -q --quiet' ;;
        'compare') words='-h --help --recover --host --kv-tokens --ignore-plans --topology --dispatch --links --copy-chunk --faults --fault-seed --max-num-seqs --max-num-batched-tokens --kv-budget-tokens --max-queue --max-queue-ms --timeout-s --duration-s --goodput --report --allow-drop --split --demand-source --layers-ahead --objective --workers --worker --pin-experts --slots --tile-tokens --attention-workers --microbatches --top-k --model --cost --copy-budget --window-us --window-steps --plan-budget-nodes --gain-rule --overlap --level --eplb-interval --eplb-step-bytes --eplb-groups --eplb-nodes --init --primaries --balance-steps --no-duplicates --predictor --policies --format --json --summaries -q --quiet' ;;
        'run') words='-h --help --model --weights --layers --prompt --prompts --workload --trace --rate-scale --num-prompts --max-tokens --temperature --top-p --seed --stop --ignore-eos --host --device --sm-partitions --policy --demand-source --objective --ffn-workers --attention-workers --microbatches --slots --copy-budget --window-us --gain-rule --level --eplb-interval --no-overlap --cost --pace --sizes --tile-tokens --combine --isa --threads --max-concurrency --deadline-s --max-num-seqs --max-num-batched-tokens --kv-budget-tokens --max-queue --max-queue-ms --timeout-s --duration-s --goodput --json --record --timeline --report -q --quiet' ;;
        'http') words='-h --help --model --weights --layers --listen --port --token-file --ready-file --served-model-name --max-connections --drain-s --device --sm-partitions --policy --demand-source --objective --ffn-workers --attention-workers --microbatches --slots --copy-budget --window-us --gain-rule --level --eplb-interval --no-overlap --cost --pace --sizes --tile-tokens --combine --isa --threads --max-concurrency --deadline-s --max-num-seqs --max-num-batched-tokens --kv-budget-tokens --max-queue --max-queue-ms --timeout-s --duration-s --goodput --inject -q --quiet' ;;
        'calibrate') words='-h --help --cost --name -o --output --force --recover -q --quiet' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _afore_serve afore-serve
_afore_trace() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path:$word" in
      ':import') path='import' ;;
      ':synth') path='synth' ;;
      ':stat') path='stat' ;;
      ':plot') path='plot' ;;
      ':compare') path='compare' ;;
      ':head') path='head' ;;
      ':replay') path='replay' ;;
      ':record') path='record' ;;
      ':check') path='check' ;;
      ':repair') path='repair' ;;
      ':merge') path='merge' ;;
      ':fit-cost') path='fit-cost' ;;
      ':train-predictor') path='train-predictor' ;;
      ':predict') path='predict' ;;
    esac
  done
  case "$path:$prev" in
    'import:--from') words='routing-ids azure-csv mooncake sglang sglang-count sglang-csv vllm vllm-map trtllm ascend eplb routed-experts route-log' ;;
    'import:--phase-change') words='abrupt gradual' ;;
    'import:--phase') words='decode prefill mixed' ;;
    'import:--layer-axis') words='hidden moe' ;;
    'import:--seed' | 'import:--microbatches' | 'import:--layers' | 'import:--model' | 'import:-o' | 'import:--output' | 'import:--meta' | 'import:--concurrent' | 'import:--prefill-chunk' | 'import:--steps' | 'import:--warmup-steps' | 'import:--phases' | 'import:--routing' | 'import:--requests' | 'import:--rate-scale' | 'import:--start-s' | 'import:--window-s' | 'import:--sample-steps' | 'import:--tokens' | 'import:--top-k' | 'import:--experts' | 'import:--hidden-layers' | 'import:--moe-layers' | 'import:--workers' | 'import:--map' | 'import:--model-class' | 'import:--iterations') ;;
    'synth:--popularity') words='lognormal zipf' ;;
    'synth:--model' | 'synth:--layers' | 'synth:--steps' | 'synth:--warmup-steps' | 'synth:--microbatches' | 'synth:--tokens' | 'synth:--seed' | 'synth:--skew' | 'synth:--drift' | 'synth:--burst' | 'synth:--switch' | 'synth:-o' | 'synth:--output') ;;
    'stat:--recover') words='strict tail skip' ;;
    'stat:--format') words='table tsv json' ;;
    'stat:--workers' | 'stat:--hot' | 'stat:--top-k') ;;
    'plot:--to') words='svg tsv html chrome' ;;
    'plot:--recover') words='strict tail skip' ;;
    'plot:-o' | 'plot:--output' | 'plot:--layers' | 'plot:--step' | 'plot:--window-us' | 'plot:--slo' | 'plot:--workers' | 'plot:--top-k') ;;
    'compare:--recover') words='strict tail skip' ;;
    'compare:--max-mape' | 'compare:--metrics') ;;
    'head:--recover') words='strict tail skip' ;;
    'head:-o' | 'head:--output' | 'head:-n' | 'head:--targets' | 'head:--top-k') ;;
    'replay:--recover') words='strict tail skip' ;;
    'replay:-o' | 'replay:--output' | 'replay:--interval-ms' | 'replay:--speed' | 'replay:--top-k') ;;
    'record:--fsync') words='none interval frame' ;;
    'record:--recover') words='strict tail skip' ;;
    'record:--predict') words='gate replica' ;;
    'record:--isa') words='auto avx512bf16 avx2 scalar' ;;
    'record:--workload') words='conversation documents code math mixed' ;;
    'record:-o' | 'record:--output' | 'record:--roll-bytes' | 'record:--top-k' | 'record:--attach' | 'record:--token-file' | 'record:--model' | 'record:--microbatches' | 'record:--max-concurrency' | 'record:--max-num-batched-tokens' | 'record:--steps' | 'record:--warmup-steps' | 'record:--threads' | 'record:--prompt' | 'record:--prompts' | 'record:--trace' | 'record:--rate-scale' | 'record:--num-prompts' | 'record:--max-tokens' | 'record:--temperature' | 'record:--top-p' | 'record:--seed' | 'record:--stop') ;;
    'repair:-o' | 'repair:--output') ;;
    'merge:--recover') words='strict tail skip' ;;
    'merge:-o' | 'merge:--output') ;;
    'fit-cost:--device' | 'fit-cost:--seed' | 'fit-cost:-o' | 'fit-cost:--output' | 'fit-cost:--ffn' | 'fit-cost:--link' | 'fit-cost:--cost') ;;
    'train-predictor:--recover') words='strict tail skip' ;;
    'train-predictor:-o' | 'train-predictor:--output' | 'train-predictor:--features' | 'train-predictor:--token-dims' | 'train-predictor:--hidden' | 'train-predictor:--window' | 'train-predictor:--epochs' | 'train-predictor:--seed' | 'train-predictor:--threads' | 'train-predictor:--test-share' | 'train-predictor:--test-domain') ;;
    'predict:--recover') words='strict tail skip' ;;
    'predict:-o' | 'predict:--output' | 'predict:--predictor' | 'predict:--layers-ahead') ;;
    *)
      case "$path" in
        '') words='--version -h --help -q --quiet import synth stat plot compare head replay record check repair merge fit-cost train-predictor predict' ;;
        'import') words='-h --help --from --seed --microbatches --layers --model -o --output --meta --concurrent --prefill-chunk --steps --warmup-steps --phases --phase-change --rows --routing --requests --rate-scale --start-s --window-s --sum --phase --allow-drop --sample-steps --tokens --top-k --experts --hidden-layers --moe-layers --layer-axis --workers --map --model-class --iterations -q --quiet' ;;
        'synth') words='-h --help --model --layers --steps --warmup-steps --microbatches --tokens --seed --popularity --skew --drift --burst --switch -o --output -q --quiet' ;;
        'stat') words='-h --help --recover --format --json --workers --hot --top-k --include-warmup -q --quiet' ;;
        'plot') words='-h --help --to -o --output --recover --layers --step --window-us --slo --workers --top-k -q --quiet' ;;
        'compare') words='-h --help --recover --max-mape --metrics --json -q --quiet' ;;
        'head') words='-h --help -o --output --recover -n --targets --top-k -q --quiet' ;;
        'replay') words='-h --help -o --output --recover --interval-ms --speed --top-k -q --quiet' ;;
        'record') words='-h --help -o --output --fsync --roll-bytes --recover --top-k --attach --token-file --model --microbatches --max-concurrency --max-num-batched-tokens --steps --warmup-steps --routing --predict --isa --threads --prompt --prompts --workload --trace --rate-scale --num-prompts --max-tokens --temperature --top-p --seed --stop --ignore-eos -q --quiet' ;;
        'check') words='-h --help --json -q --quiet' ;;
        'repair') words='-h --help -o --output -q --quiet' ;;
        'merge') words='-h --help -o --output --recover -q --quiet' ;;
        'fit-cost') words='-h --help --device --seed -o --output --ffn --link --cost --force -q --quiet' ;;
        'train-predictor') words='-h --help -o --output --force --json --recover --features --token-dims --hidden --window --epochs --seed --threads --test-share --test-domain -q --quiet' ;;
        'predict') words='-h --help -o --output --recover --predictor --layers-ahead --stat --json -q --quiet' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _afore_trace afore-trace
