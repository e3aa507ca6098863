#pragma once
// The tensors of DeepSeek's EPLB (github.com/deepseek-ai/EPLB, rebalance_experts) as JSON under their names there:
// "weight" [layers][experts] goes in; "phy2log" [layers][replicas], "log2phy" [layers][experts][most replicas, -1
// padded] and "logcnt" [layers][experts] come out. Which layers the rows are is the caller's matter.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

// A map where there is phy2log (log2phy and logcnt, where present, must say the same: violations), else the weights.
std::variant<MapFile, CountsFile> parse_eplb_json(std::string_view text, const std::string& source);

// Replicas of an expert in log2phy stand in slot order. Error{data} where log2phy would have more than kMaxTableCells.
std::string to_eplb_json(const std::vector<std::vector<int>>& phy2log, int experts);

}  // namespace afore::wire
