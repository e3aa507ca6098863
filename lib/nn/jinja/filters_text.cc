// Filters that give text or numbers.
#include <fmt/format.h>

#include <cmath>

#include "nn/jinja/builtins.h"
#include "nn/jinja/numbers.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

Value trim(Run& run, const Value& input, const Arguments& given) {
  const std::string text = str(run, input);
  const std::string* chars =
      given[0] == nullptr || is_none(*given[0]) ? nullptr : &text_argument(run, "trim", *given[0]);
  run.charge(text.size() / 32 * (chars == nullptr ? 1 : chars->size()));
  return run.text(std::string(strip(text, chars, true, true)));
}

template <std::string (*change)(std::string_view)>
Value changed(Run& run, const Value& input, const Arguments&) {
  const std::string text = str(run, input);
  run.charge(text.size() / 8);
  return run.text(change(text));
}

Value string(Run& run, const Value& input, const Arguments&) { return run.text(str(run, input)); }

Value replaced(Run& run, const Value& input, const Arguments& given) {
  const std::string text = str(run, input), from = str(run, *given[0]), to = str(run, *given[1]);
  const bool all = given[2] == nullptr || is_none(*given[2]);
  return replace_text(run, text, from, to, all ? -1 : integer_argument(run, "replace", given[2], -1));
}

// A boolean's JSON setting, and by Python's truth any other value.
Value tojson(Run& run, const Value& input, const Arguments& given) {
  JsonStyle style;
  style.ensure_ascii = is_set(given[0]);
  style.sort_keys = is_set(given[3]);
  if (given[1] != nullptr && !is_none(*given[1])) {
    const std::string* text = as_text(*given[1]);
    const std::int64_t width = text == nullptr ? integer_argument(run, "tojson", given[1], 0) : 0;
    if (width > 100) run.fail("tojson with an indent above 100 is not computed");
    style.indent =
        text != nullptr ? *text : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    style.item_separator.assign(1, ',');
  }
  if (given[2] != nullptr && !is_none(*given[2])) {
    const Sequence* pair = as_sequence(*given[2]);
    if (pair == nullptr || pair->items.size() != 2) run.fail("the separators of tojson are not two");
    style.item_separator = text_argument(run, "tojson", pair->items[0]);
    style.key_separator = text_argument(run, "tojson", pair->items[1]);
  }
  return run.text(to_json(run, input, style));
}

Value indent(Run& run, const Value& input, const Arguments& given) {
  std::string by(4, ' ');
  if (given[0] != nullptr) {
    const std::string* text = as_text(*given[0]);
    const std::int64_t width = text == nullptr ? integer_argument(run, "indent", given[0], 4) : 0;
    if (width > 1000) run.fail("indent by more than 1000 is not computed");
    by = text != nullptr ? *text : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  const bool first = is_set(given[1]), blank = is_set(given[2]);
  const std::string text = text_argument(run, "indent", input) + "\n";
  const std::vector<std::string_view> lines = split_lines(text, false);
  run.charge_bytes(text.size() + lines.size() * by.size());
  run.charge(lines.size());
  std::string result = first ? by : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += '\n';
    if (i > 0 && (blank || !lines[i].empty())) result += by;
    result += lines[i];
  }
  return run.text(std::move(result));
}

Value integer(Run& run, const Value& input, const Arguments& given) {
  const Value if_not = given[0] == nullptr ? Value(std::int64_t{0}) : *given[0];
  if (given[1] != nullptr && integer_argument(run, "int", given[1], 10) != 10)
    run.fail("int of another base than ten is not computed");
  std::int64_t room = 0;
  if (as_integer(input, room) != nullptr) return room;
  if (is_undefined(input)) run.fail("int of undefined");
  const std::string* text = as_text(input);
  if (text != nullptr)
    if (const auto whole = parse_integer(run, *text)) return *whole;
  const double* held = std::get_if<double>(&input);
  const std::optional<double> number = text != nullptr   ? parse_float(*text)
                                       : held == nullptr ? std::nullopt
                                                         : std::optional(*held);
  if (!number || !std::isfinite(*number)) return if_not;
  if (std::fabs(*number) >= 0x1p63) run.fail("an integer beyond 64 bits");
  return static_cast<std::int64_t>(*number);
}

Value floating(Run& run, const Value& input, const Arguments& given) {
  if (is_undefined(input)) run.fail("float of undefined");
  if (is_number(input)) return as_double(input);
  const std::string* text = as_text(input);
  const std::optional<double> number = text == nullptr ? std::nullopt : parse_float(*text);
  if (number) return *number;
  return given[0] == nullptr ? Value(0.0) : *given[0];
}

Value absolute(Run& run, const Value& input, const Arguments&) {
  if (!is_number(input)) run.fail(fmt::format("abs of {}", type_name(input)));
  if (as_double(input) < 0 || std::holds_alternative<double>(input))
    return std::holds_alternative<double>(input) ? Value(std::fabs(as_double(input))) : negate(run, input);
  return compute(run, Operator::add, input, std::int64_t{0});
}

Value safe(Run& run, const Value& input, const Arguments&) { return run.text(str(run, input)); }

constexpr Filter kTextFilters[] = {
    {{"trim", 0, {"chars"}}, trim},
    {{"upper"}, changed<upper>},
    {{"lower"}, changed<lower>},
    {{"title"}, changed<title_words>},
    {{"capitalize"}, changed<capitalize>},
    {{"string"}, string},
    {{"replace", 2, {"old", "new", "count"}}, replaced},
    {{"tojson", 0, {"ensure_ascii", "indent", "separators", "sort_keys"}}, tojson},
    {{"indent", 0, {"width", "first", "blank"}}, indent},
    {{"int", 0, {"default", "base"}}, integer},
    {{"float", 0, {"default"}}, floating},
    {{"abs"}, absolute},
    {{"safe"}, safe},
};

}  // namespace

std::span<const Filter> text_filters() { return kTextFilters; }

}  // namespace afore::nn::jinja
