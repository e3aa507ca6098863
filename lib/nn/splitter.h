#pragma once
// Cuts text into the pieces that are merged apart: rules in order, each over every piece that the one before left.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace afore::nn {

struct SplitRule {
  std::string pattern;    // as to_pcre2() gives it
  bool keep_gaps = true;  // what lies between matches is a piece, too
};

class Splitter {
 public:
  // What one thread needs while it splits texts of up to `text_bytes`.
  class Scratch {
   public:
    explicit Scratch(std::size_t text_bytes);

   private:
    friend class Splitter;
    struct Free {
      void operator()(pcre2_real_match_data_8* data) const;
      void operator()(pcre2_real_match_context_8* context) const;
    };
    std::unique_ptr<pcre2_real_match_data_8, Free> match_;
    std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  };

  // Error{data} with `source` and what PCRE2 says for a pattern that it does not take.
  Splitter(const std::vector<SplitRule>& rules, const std::string& source);

  // Calls sink(piece) for each piece of `text`, which is UTF-8, in order; none is empty. Error{data} when a match takes
  // more steps than PCRE2 allows.
  template <class Sink>
  void split(std::string_view text, Scratch& scratch, Sink&& sink, std::size_t rule = 0) const {
    if (rule == rules_.size()) {
      if (!text.empty()) sink(text);
      return;
    }
    std::size_t done = 0, from = 0;
    for (Match match; next(rule, text, from, scratch, match);) {
      if (rules_[rule].keep_gaps && match.begin > done)
        split(text.substr(done, match.begin - done), scratch, sink, rule + 1);
      if (match.end > match.begin) split(text.substr(match.begin, match.end - match.begin), scratch, sink, rule + 1);
      done = match.end;
    }
    if (rules_[rule].keep_gaps && done < text.size()) split(text.substr(done), scratch, sink, rule + 1);
  }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  struct Rule {
    std::unique_ptr<pcre2_real_code_8, Free> code;
    bool keep_gaps;
  };
  struct Match {
    std::size_t begin = 0, end = 0;
  };

  // The next match at or behind `from`, which moves on; false at the end.
  bool next(std::size_t rule, std::string_view text, std::size_t& from, Scratch& scratch, Match& match) const;

  std::vector<Rule> rules_;
};

}  // namespace afore::nn
