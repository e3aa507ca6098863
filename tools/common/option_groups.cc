// Which head an option stands under. One table for all tools: a flag that two commands share is found in one place.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "common/command_line.h"

namespace afore::cli {

namespace {

struct Head {
  std::string_view title;
  std::string_view flags;  // long names, each between spaces
};

// In the order of the help. Commands name further heads of their own with under().
constexpr Head kHeads[] = {
    {"Input and output",
     " from output recover format json json_file only summary summaries timing timeline record force allow-drop report "
     "title explain meta targets name fsync roll-bytes routing to stat slo step for map map-version sum iterations "
     "layer-updates-per-iter layer-axis "},
    {"Model",
     " model model-class sizes expert-bytes experts hidden-layers moe-layers top-k layers weights hidden "
     "intermediate "},
    {"Cluster",
     " workers worker ffn-workers attention-workers topology dispatch slots redundant-experts tile-tokens microbatches "
     "batch context "},
    {"Workload", " steps warmup-steps tokens seed popularity skew drift burst switch kv-tokens interval-ms speed "},
    {"Policy",
     " policy policies split demand-source objective copy-budget window-us window-steps gain-rule overlap no-overlap "
     "level pin-experts plan-budget-nodes init primaries balance-steps replan ignore-plans fill "},
    {"Prediction", " predictor layers-ahead "},
    {"EPLB", " eplb-interval eplb-step-bytes eplb-groups eplb-nodes no-duplicates "},
    {"Cost", " cost links copy-chunk pace ffn link "},
    {"Faults", " faults fault-seed "},
    {"Evidence", " history-steps evaluate-steps min-gain confidence hot include-warmup max-mape metrics "},
    {"Copies", " minbytes maxbytes stepfactor iters warmup_iters check pattern path copies tiles min-bw "},
    {"Endpoint", " listen port token-file ready-file served-model-name max-connections drain-s inject "},
    {"Execution", " host device sm-partitions isa threads combine max-concurrency deadline-s timeout "},
};
constexpr std::string_view kOthers = "Other options", kGeneral = "General";

std::string title_of(Option option) {
  if (std::string head = head_of(option); !head.empty()) {
    head[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(head[0])));
    return head;
  }
  for (const std::string& name : long_names(option)) {
    if (name == "help" || name == "version" || name == "quiet") return std::string(kGeneral);
    const std::string word = " " + name + " ";
    for (const Head& head : kHeads) {
      if (head.flags.find(word) != std::string_view::npos) return std::string(head.title);
    }
  }
  return std::string(kOthers);
}

// Heads of the table first, then those of the command's own in its order, what is left, and what every tool has.
std::size_t rank_of(const std::string& title) {
  if (title == kGeneral) return std::size(kHeads) + 2;
  if (title == kOthers) return std::size(kHeads) + 1;
  for (std::size_t i = 0; i < std::size(kHeads); ++i) {
    if (kHeads[i].title == title) return i;
  }
  return std::size(kHeads);
}

}  // namespace

std::vector<OptionGroup> option_groups(Command command) {
  std::vector<OptionGroup> groups;
  for (const Option option : options_of(command)) {
    const std::string title = title_of(option);
    auto at = std::find_if(groups.begin(), groups.end(), [&](const OptionGroup& g) { return g.title == title; });
    if (at == groups.end()) at = groups.insert(groups.end(), {title, {}});
    at->options.push_back(option);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const OptionGroup& a, const OptionGroup& b) { return rank_of(a.title) < rank_of(b.title); });
  return groups;
}

}  // namespace afore::cli
