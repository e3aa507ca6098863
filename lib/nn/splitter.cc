#include "nn/splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <new>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "nn/json.h"
#include "util/error.h"

namespace afore::nn {
namespace {

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR subject(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

pcre2_code* compile(const std::string& pattern, const std::string& source) {
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code* const code =
      pcre2_compile(subject(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE,
                    &error, &place, context.get());
  if (code == nullptr)
    throw Error(ErrorKind::data, fmt::format("{}: the regular expression {} is not understood: {} at byte {}", source,
                                             quote(pattern), message_of(error), place));
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where there is no JIT, the interpreter matches
  return code;
}

}  // namespace

void Splitter::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void Splitter::Scratch::Free::operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free(data); }

void Splitter::Scratch::Free::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}

Splitter::Scratch::Scratch(std::size_t text_bytes)
    : match_(pcre2_match_data_create(1, nullptr)),  // only where the whole match lies
      context_(pcre2_match_context_create(nullptr)) {
  if (match_ == nullptr || context_ == nullptr) throw std::bad_alloc();
  // PCRE2's own limit, and what one long run of spaces needs to be gone back through.
  const std::size_t steps = 10'000'000 + 16 * text_bytes;
  pcre2_set_match_limit(context_.get(), static_cast<std::uint32_t>(std::min<std::size_t>(steps, UINT32_MAX)));
}

Splitter::Splitter(const std::vector<SplitRule>& rules, const std::string& source) {
  for (const SplitRule& rule : rules)
    rules_.push_back({std::unique_ptr<pcre2_real_code_8, Free>(compile(rule.pattern, source)), rule.keep_gaps});
}

bool Splitter::next(std::size_t rule, std::string_view text, std::size_t& from, Scratch& scratch, Match& match) const {
  if (from > text.size()) return false;
  const pcre2_code* const code = rules_[rule].code.get();
  int found = pcre2_match(code, subject(text), text.size(), from, PCRE2_NO_UTF_CHECK, scratch.match_.get(),
                          scratch.context_.get());
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter keeps its frames on the heap
    found = pcre2_match(code, subject(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch.match_.get(),
                        nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  if (found < 0)
    throw Error(ErrorKind::data, fmt::format("a regular expression of tokenizer.json gives up on {} bytes of text: {}",
                                             text.size(), message_of(found)));
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(scratch.match_.get());
  match = {ends[0], ends[1]};
  // Nothing matched: on by one code point, so that there is an end.
  from = match.end;
  if (match.end == match.begin) {
    ++from;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  }
  return true;
}

}  // namespace afore::nn
