// The summary record, both directions from one list of its keys.
#include <set>
#include <string>

#include "util/error.h"
#include "wire/decode.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

using Real = std::optional<double>;
using Count = std::optional<std::int64_t>;

// Calls `visit(key, field)` for the keys of serving benchmarks, in written order.
template <class S, class Visit>
void visit_benchmark(S& s, Visit&& visit) {
  visit("duration", s.duration);
  visit("completed", s.completed);
  visit("failed", s.failed);
  visit("total_input_tokens", s.total_input_tokens);
  visit("total_output_tokens", s.total_output_tokens);
  visit("request_throughput", s.request_throughput);
  visit("request_goodput", s.request_goodput);
  visit("output_throughput", s.output_throughput);
  visit("total_token_throughput", s.total_token_throughput);
  visit("max_concurrent_requests", s.max_concurrent_requests);
  const auto latency = [&](const std::string& name, auto& l) {
    visit("mean_" + name + "_ms", l.mean);
    visit("median_" + name + "_ms", l.median);
    visit("std_" + name + "_ms", l.std);
    visit("p95_" + name + "_ms", l.p95);
    visit("p99_" + name + "_ms", l.p99);
  };
  latency("ttft", s.ttft);
  latency("tpot", s.tpot);
  latency("itl", s.itl);
  latency("e2el", s.e2el);
}

// The same for the "afore" object; `notes` follow.
template <class S, class Visit>
void visit_afore(S& s, Visit&& visit) {
  visit("policy", s.policy);
  visit("host", s.host);
  visit("device", s.device);
  visit("targets", s.targets);
  visit("certified_targets", s.certified_targets);
  visit("imbalance_tokens", s.imbalance_tokens);
  visit("imbalance_tiles", s.imbalance_tiles);
  visit("load_over_bound", s.load_over_bound);
  visit("balancedness", s.balancedness);
  visit("gain_captured", s.gain_captured);
  visit("gain_captured_tiles", s.gain_captured_tiles);
  visit("copies", s.copies);
  visit("copied_bytes", s.copied_bytes);
  visit("ffn_ns", s.ffn_ns);
  visit("ffn_ns_before", s.ffn_ns_before);
  visit("migration_ns", s.migration_ns);
  visit("window_ns", s.window_ns);
  visit("exposed_ns", s.exposed_ns);
  visit("slack_ns", s.slack_ns);
  visit("exposed_targets", s.exposed_targets);
  visit("slot_waits", s.slot_waits);
  visit("migrating_share", s.migrating_share);
  const auto itl = [&](const std::string& when, auto& l) {
    visit("median_itl_" + when + "_migration_ms", l.median);
    visit("p99_itl_" + when + "_migration_ms", l.p99);
    visit("itl_" + when + "_migration_n", l.n);
  };
  itl("during", s.itl_during_migration);
  itl("outside", s.itl_outside_migration);
  visit("step_ns", s.step_ns);
  visit("plan_ns", s.plan_ns);
  visit("ttft_n", s.ttft.n);
  visit("tpot_n", s.tpot.n);
  visit("itl_n", s.itl.n);
  visit("e2el_n", s.e2el.n);
  visit("injected", s.injected);
  visit("queued", s.queued);
  visit("running", s.running);
  visit("rejected", s.rejected);
  visit("timed_out", s.timed_out);
  visit("peak_queued", s.peak_queued);
  visit("peak_running", s.peak_running);
  visit("mean_queue_ms", s.mean_queue_ms);
  visit("saturation", s.saturation);
  visit("interrupted", s.interrupted);
}

// Both of these are written only where there is something to say.
template <class S, class Visit>
void visit_cancelled(S& s, Visit&& visit) {
  visit("cancelled", s.cancelled);
}

template <class S, class Visit>
void visit_losses(S& s, Visit&& visit) {
  visit("input_lost_lines", s.input_lost_lines);
  visit("input_lost_bytes", s.input_lost_bytes);
}

struct SummaryWriter {
  JsonWriter& json;
  void operator()(std::string_view key, const Real& value) const { json.real_or_null(key, value); }
  void operator()(std::string_view key, const Count& value) const { json.integer_or_null(key, value); }
  void operator()(std::string_view key, const std::string& value) const { json.string_or_null(key, value); }
  void operator()(std::string_view key, const std::int64_t& value) const { json.integer(key, value); }
  void operator()(std::string_view key, const bool& value) const { json.boolean(key, value); }
  void operator()(std::string_view key, const std::optional<Summary::PlanTime>& value) const {
    json.key(key);
    if (!value) {
      json.out() += "null";
      return;
    }
    json.open('{');
    json.real("mean", value->mean);
    json.real("p50", value->p50);
    json.real("p99", value->p99);
    json.close('}');
  }
};

// An absent or null key leaves the field as it is.
struct SummaryReader {
  ObjectReader& object;
  template <class Read>
  void with(std::string_view key, Read&& read) const {
    if (const JsonValue value = object.find(key); value && !value.is_null()) read(value);
  }
  void operator()(std::string_view key, Real& to) const {
    with(key, [&](JsonValue v) { to = v.number(); });
  }
  void operator()(std::string_view key, Count& to) const {
    with(key, [&](JsonValue v) { to = v.integer(); });
  }
  void operator()(std::string_view key, std::string& to) const {
    with(key, [&](JsonValue v) { to = v.string(); });
  }
  void operator()(std::string_view key, std::int64_t& to) const {
    with(key, [&](JsonValue v) { to = v.integer(); });
  }
  void operator()(std::string_view key, bool& to) const {
    with(key, [&](JsonValue v) { to = v.boolean(); });
  }
  void operator()(std::string_view key, std::optional<Summary::PlanTime>& to) const {
    with(key, [&](JsonValue v) {
      ObjectReader times(v);
      to = Summary::PlanTime{times.required("mean").number(), times.required("p50").number(),
                             times.required("p99").number()};
    });
  }
};

// The keys of numbers, with what `object` has there. Fields are looked at for their type alone.
struct NumberReader {
  ObjectReader* object;  // null: nothing is there
  std::vector<SummaryNumber>& numbers;
  JsonValue find(std::string_view key) const {
    const JsonValue value = object == nullptr ? JsonValue() : object->find(key);
    return value && !value.is_null() ? value : JsonValue();
  }
  void add(std::string_view key, const JsonValue& value) const {
    numbers.push_back({std::string(key), value ? std::optional<double>(value.number()) : std::nullopt});
  }
  void operator()(std::string_view key, const Real&) const { add(key, find(key)); }
  void operator()(std::string_view key, const Count&) const { add(key, find(key)); }
  void operator()(std::string_view key, const std::int64_t&) const { add(key, find(key)); }
  void operator()(std::string_view, const std::string&) const {}
  void operator()(std::string_view, const bool&) const {}
  void operator()(std::string_view key, const std::optional<Summary::PlanTime>&) const {
    const JsonValue times = find(key);
    for (const char* part : {"mean", "p50", "p99"})
      add(std::string(key).append(".").append(part), times ? ObjectReader(times).required(part) : JsonValue());
  }
};

const std::set<std::string, std::less<>>& afore_keys() {
  static const std::set<std::string, std::less<>> keys = [] {
    std::set<std::string, std::less<>> list;
    Summary summary;
    const auto add = [&](std::string_view key, auto&) { list.emplace(key); };
    visit_afore(summary, add);
    visit_cancelled(summary, add);
    visit_losses(summary, add);
    return list;
  }();
  return keys;
}

}  // namespace

std::string to_json(const Summary& summary) {
  std::string out;
  JsonWriter json(out);
  const SummaryWriter write{json};
  json.open('{');
  json.string("kind", "summary");
  json.string("producer", summary.producer);
  visit_benchmark(summary, write);
  json.key("afore");
  json.open('{');
  visit_afore(summary, write);
  if (summary.cancelled != 0) visit_cancelled(summary, write);
  if (summary.input_lost_lines != 0 || summary.input_lost_bytes != 0) visit_losses(summary, write);
  for (const auto& [name, text] : summary.notes) {
    AFORE_CHECK(!afore_keys().contains(name), "a note has the name of a summary key");
    json.separate();
    append_string(out, name);
    out += ':';
    append_string(out, text);
  }
  json.close('}');
  json.close('}');
  return out;
}

Summary decode_summary(ObjectReader& record) {
  Summary summary;
  const SummaryReader read{record};
  read("producer", summary.producer);
  visit_benchmark(summary, read);
  const JsonValue afore = record.find("afore");
  if (!afore) return summary;
  ObjectReader object(afore);
  visit_afore(summary, SummaryReader{object});
  visit_cancelled(summary, SummaryReader{object});
  visit_losses(summary, SummaryReader{object});
  for (const JsonValue member : afore)
    if (member.type() == JsonType::string && !afore_keys().contains(member.key()))
      summary.notes.emplace(member.key(), member.string());
  return summary;
}

std::vector<SummaryNumber> summary_numbers(std::string_view line) {
  JsonTree tree;
  ObjectReader record(tree.parse(line, "summary"));
  std::vector<SummaryNumber> numbers;
  const Summary types;
  visit_benchmark(types, NumberReader{&record, numbers});
  std::optional<ObjectReader> afore;
  if (const JsonValue object = record.find("afore")) afore.emplace(object);
  visit_afore(types, NumberReader{afore ? &*afore : nullptr, numbers});
  return numbers;
}

}  // namespace afore::wire
