#pragma once
// What a request asks of a model: the tokens it begins with, and how its own are sampled and end.
#include <cstdint>
#include <string>
#include <vector>

namespace afore::host {

struct Prompt {
  std::vector<int> token_ids;     // never empty
  double temperature = 0;         // 0: the likeliest token
  double top_p = 1;               // of the probability, from the likeliest token down; in (0, 1]
  std::uint64_t seed = 0;         // of its draws: they depend on nothing else
  bool ignore_eos = false;        // the end-of-sequence token does not end it
  std::vector<std::string> stop;  // text that ends it, wherever tokens break it
};

}  // namespace afore::host
