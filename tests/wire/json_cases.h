#pragma once
// Reads json_cases.txt, whose head says what it is.
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace afore::wire {

struct JsonCase {
  std::string verdict, name, text, why;
  bool is_json() const { return verdict == "accept" || verdict == "accept/schema" || verdict == "either+"; }
  bool is_ours() const { return verdict == "accept" || verdict == "either+"; }  // both layers take it
  bool is_one_line() const { return text.find('\n') == std::string::npos; }
};

namespace json_cases_detail {

inline std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

inline std::string first_word(std::string& rest) {
  const auto end = std::min(rest.find(' '), rest.size());
  std::string word = rest.substr(0, end);
  rest = trimmed(std::string_view(rest).substr(end));
  return word;
}

// "<0A>" and "<3*ab>" of the table as bytes.
inline std::string unfolded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '<') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto close = text.find('>');
    if (close == std::string_view::npos) throw std::runtime_error("no > behind " + std::string(text));
    const std::string inside(text.substr(1, close - 1));
    text.remove_prefix(close + 1);
    if (const auto star = inside.find('*'); star != std::string::npos) {
      for (int i = std::atoi(inside.c_str()); i > 0; --i) out += inside.substr(star + 1);
    } else {
      for (std::size_t at = 0; at < inside.size(); at += 3)
        out += static_cast<char>(std::stoi(inside.substr(at, 2), nullptr, 16));
    }
  }
  return out;
}

}  // namespace json_cases_detail

inline std::vector<JsonCase> read_json_cases(const std::string& path) {
  using namespace json_cases_detail;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<JsonCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    JsonCase c;
    if (const auto mark = line.find(";; "); mark != std::string::npos) {
      c.why = line.substr(mark + 3);
      line.resize(mark);
    }
    std::string rest = trimmed(line);
    c.verdict = first_word(rest);
    c.name = first_word(rest);
    c.text = unfolded(rest);
    cases.push_back(c);
  }
  return cases;
}

}  // namespace afore::wire
