#include "nn/jinja/print.h"

#include <fmt/format.h>

#include <cmath>

#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

class Printer {
 public:
  explicit Printer(Run& run) : run_(run) {}

  void repr(const Value& value) {
    run_.charge(1);
    if (is_undefined(value)) out += "Undefined";
    else if (is_none(value)) out += "None";
    else if (const bool* boolean = std::get_if<bool>(&value)) out += *boolean ? "True" : "False";
    else if (const auto* integer = std::get_if<std::int64_t>(&value)) out += std::to_string(*integer);
    else if (const double* number = std::get_if<double>(&value)) out += number_text(*number);
    else if (const std::string* text = as_text(value)) quoted(*text);
    else if (const Mapping* mapping = as_mapping(value)) members(*mapping);
    else if (const Sequence* sequence = as_sequence(value)) items(*sequence, value);
    else fail(value);
    if (out.size() > kMaxTextBytes) run_.charge_bytes(out.size());  // says that it is too long
  }

  std::string out;

 private:
  [[noreturn]] void fail(const Value& value) {
    run_.fail(fmt::format("printing {} is not computed", type_name(value)));
  }

  void items(const Sequence& sequence, const Value& value) {
    if (sequence.flavour != Flavour::list && sequence.flavour != Flavour::tuple) fail(value);
    const bool list = sequence.flavour == Flavour::list;
    out += list ? "[" : "(";
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out += ", ";
      repr(sequence.items[i]);
    }
    if (!list && sequence.items.size() == 1) out += ",";
    out += list ? "]" : ")";
  }

  void members(const Mapping& mapping) {
    out += "{";
    for (std::size_t i = 0; i < mapping.members.size(); ++i) {
      if (i > 0) out += ", ";
      repr(mapping.members[i].first);
      out += ": ";
      repr(mapping.members[i].second);
    }
    out += "}";
  }

  void quoted(const std::string& text) {
    const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
    out += quote;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t code = next_code_point(text, at);
      if (code == static_cast<char32_t>(quote) || code == '\\') out += '\\', out += static_cast<char>(code);
      else if (code == '\n') out += "\\n";
      else if (code == '\r') out += "\\r";
      else if (code == '\t') out += "\\t";
      else if (is_printable(code)) out.append(text, begin, at - begin);
      else escape(code);
    }
    out += quote;
  }

  void escape(char32_t code) {
    const auto number = static_cast<std::uint32_t>(code);
    if (number < 0x100) out += fmt::format("\\x{:02x}", number);
    else if (number < 0x10000) out += fmt::format("\\u{:04x}", number);
    else out += fmt::format("\\U{:08x}", number);
  }

  Run& run_;
};

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string repr(Run& run, const Value& value) {
  Printer printer(run);
  printer.repr(value);
  run.charge_bytes(printer.out.size());
  return std::move(printer.out);
}

std::string str(Run& run, const Value& value) {
  if (const std::string* text = as_text(value)) {
    run.charge_bytes(text->size());
    return *text;
  }
  return is_undefined(value) ? "" : repr(run, value);
}

}  // namespace afore::nn::jinja
