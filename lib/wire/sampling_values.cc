#include "wire/sampling_values.h"

#include "wire/prompts.h"

namespace afore::wire {
namespace {

std::string stop_text(JsonValue value) {
  std::string text(value.string());
  if (text.empty() || text.size() > kMaxStopBytes) value.fail("a stop text has 1 to 256 bytes");
  return text;
}

}  // namespace

double number_in(JsonValue value, double least, double most, const char* fact) {
  const double number = value.number();
  if (!(number >= least && number <= most)) value.fail(fact);
  return number;
}

void read_stop_texts(JsonValue value, std::vector<std::string>& stop) {
  if (value.is_null()) return;
  if (value.type() == JsonType::string) {
    stop.push_back(stop_text(value));
    return;
  }
  value.expect(JsonType::array);
  if (value.size() > kMaxStops) value.fail("more than 16 stop texts");
  for (const JsonValue item : value) stop.push_back(stop_text(item));
}

}  // namespace afore::wire
