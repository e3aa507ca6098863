#pragma once
// Regular expressions of tokenizer.json in PCRE2's terms. They are written for Oniguruma's Ruby syntax over Unicode
// (tokenizers, utils/onig.rs), which most of PCRE2's shares; where the two would read a construct differently, it is
// rewritten, or refused by name. PCRE2 10.42 knows Unicode 14; its caseless matching folds single characters only.
#include <string>
#include <string_view>

#include "nn/json.h"

namespace afore::nn {

// For PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE with LF as the only newline. Errors name `place`.
std::string to_pcre2(std::string_view pattern, const JsonView& place);

// A pattern that matches `text` itself.
std::string literal_pattern(std::string_view text);

}  // namespace afore::nn
