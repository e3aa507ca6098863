#pragma once
// What a misspelt word may have meant.
#include <string>
#include <vector>

namespace afore::cli {

// The candidate within a third of `word`'s length in edits (swaps count once), or "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// "did you mean NEAREST? " for the start of a hint, or "".
std::string guess_at(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace afore::cli
