#pragma once
// Unicode Normalization Form C (Unicode Standard Annex #15), which the tokenizers of Qwen3 ask for.
#include <string>
#include <string_view>

namespace afore::nn {

// `text`, which is UTF-8, composed: itself where that changes nothing, else in `buffer`.
std::string_view to_nfc(std::string_view text, std::string& buffer);

}  // namespace afore::nn
