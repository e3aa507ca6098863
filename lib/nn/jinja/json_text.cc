// json.dumps() of a template's values.
#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

class JsonPrinter {
 public:
  JsonPrinter(Run& run, const JsonStyle& style) : run_(run), style_(style) {}

  void print(const Value& value) {
    run_.charge(1);
    if (is_none(value)) out += "null";
    else if (const bool* boolean = std::get_if<bool>(&value)) out += *boolean ? "true" : "false";
    else if (const std::string* text = as_text(value)) quoted(*text);
    else if (is_number(value)) out += number(value);
    else if (const Mapping* mapping = as_mapping(value)) members(*mapping);
    else if (const Sequence* sequence = as_sequence(value);
             sequence != nullptr && (sequence->flavour == Flavour::list || sequence->flavour == Flavour::tuple))
      items(*sequence);
    else run_.fail(fmt::format("tojson of {}", type_name(value)));
    if (out.size() > kMaxTextBytes) run_.charge_bytes(out.size());  // says that it is too long
  }

  std::string out;

 private:
  static std::string number(const Value& value) {
    const double* real = std::get_if<double>(&value);
    if (real == nullptr) return std::to_string(std::get<std::int64_t>(value));
    const std::string text = number_text(*real);
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
  }

  void new_line() {
    if (!style_.indent) return;
    out += '\n';
    for (int i = 0; i < level_; ++i) out += *style_.indent;
    run_.charge_bytes(style_.indent->size() * static_cast<std::size_t>(level_));
  }

  void items(const Sequence& sequence) {
    if (sequence.items.empty()) return void(out += "[]");
    out += '[';
    ++level_;
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      new_line();
      print(sequence.items[i]);
    }
    --level_;
    new_line();
    out += ']';
  }

  std::string key_text(const Value& key) {
    if (const std::string* text = as_text(key)) return *text;
    if (is_none(key)) return "null";
    if (const bool* boolean = std::get_if<bool>(&key)) return *boolean ? "true" : "false";
    if (is_number(key)) return number(key);
    run_.fail(fmt::format("tojson of a mapping with {} as a key", type_name(key)));
  }

  void members(const Mapping& mapping) {
    if (mapping.members.empty()) return void(out += "{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& member : mapping.members) order.push_back(&member);
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(),
                       [this](auto* a, auto* b) { return is_less(run_, a->first, b->first); });
    out += '{';
    ++level_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      new_line();
      quoted(key_text(order[i]->first));
      out += style_.key_separator;
      print(order[i]->second);
    }
    --level_;
    new_line();
    out += '}';
  }

  void escape(char32_t code) {
    const auto number = static_cast<std::uint32_t>(code);
    if (number < 0x10000) out += fmt::format("\\u{:04x}", number);
    else out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (number >> 10), 0xDC00 + (number & 0x3FF));
  }

  void quoted(const std::string& text) {
    static constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kEscaped = "\"\\nrtbf";
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t code = next_code_point(text, at);
      const std::size_t short_form = code < 0x80 ? kPlain.find(static_cast<char>(code)) : kPlain.npos;
      if (short_form != kPlain.npos) out += '\\', out += kEscaped[short_form];
      else if (code < 0x20 || (style_.ensure_ascii && code > 0x7E)) escape(code);
      else out.append(text, begin, at - begin);
    }
    out += '"';
  }

  Run& run_;
  const JsonStyle& style_;
  int level_ = 0;
};

}  // namespace

std::string to_json(Run& run, const Value& value, const JsonStyle& style) {
  JsonPrinter printer(run, style);
  printer.print(value);
  run.charge_bytes(printer.out.size());
  return std::move(printer.out);
}

}  // namespace afore::nn::jinja
