#include <set>
#include <string>
#include <vector>

#include "wire/calibration.h"
#include "wire/decode.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"
#include "wire/limits.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

enum class Role { rate, efficiency, time, measured, optional_rate, rule, token_time };

bool may_lack(Role role) {
  return role == Role::measured || role == Role::optional_rate || role == Role::rule || role == Role::token_time;
}

constexpr double kLeastEfficiency = 0.001;

// Calls `visit(key, field, role)` in written order.
template <class Profile, class Visit>
void visit_profile(Profile& p, Visit&& visit) {
  visit("flops_per_s", p.flops_per_s, Role::rate);
  visit("flops_efficiency", p.flops_efficiency, Role::efficiency);
  visit("memory_bytes_per_s", p.memory_bytes_per_s, Role::rate);
  visit("memory_efficiency", p.memory_efficiency, Role::efficiency);
  visit("link_bytes_per_s", p.link_bytes_per_s, Role::rate);
  visit("link_efficiency", p.link_efficiency, Role::efficiency);
  visit("link_latency_ns", p.link_latency_ns, Role::time);
  visit("copy_bytes_per_s", p.copy_bytes_per_s, Role::rate);
  visit("copy_latency_ns", p.copy_latency_ns, Role::time);
  visit("ffn_c0_ns", p.ffn_c0_ns, Role::time);
  visit("attention_c0_ns", p.attention_c0_ns, Role::time);
  visit("control_latency_ns", p.control_latency_ns, Role::time);
  visit("scheduler_ns", p.scheduler_ns, Role::time);
  visit("sampling_ns", p.sampling_ns, Role::time);
  visit("ffn_c1_ns", p.ffn_c1_ns, Role::measured);
  visit("ffn_c2_ns", p.ffn_c2_ns, Role::measured);
  visit("ffn_tile_tokens", p.ffn_tile_tokens, Role::measured);
  visit("source_bytes_per_s", p.source_bytes_per_s, Role::optional_rate);
  visit("ffn_rule", p.ffn_rule, Role::rule);
  visit("attention_token_ns", p.attention_token_ns, Role::token_time);
  visit("attention_kv_ns", p.attention_kv_ns, Role::token_time);
  visit("step_token_ns", p.step_token_ns, Role::token_time);
  visit("sampling_token_ns", p.sampling_token_ns, Role::token_time);
}

struct ProfileReader {
  ObjectReader& object;

  void operator()(const char* key, double& to, Role role) const {
    const JsonValue value = may_lack(role) ? object.find(key) : object.required(key);
    if (!value) return;
    to = value.number();
    if (role == Role::token_time) {
      if (!(to >= 0 && to <= kMaxTimeNs)) value.fail("a time per token must be from 0 to 1e9 ns");
      return;
    }
    if (role != Role::efficiency && !(to >= 1 && to <= kMaxRate))
      value.fail("a rate must be from 1 to 1e20 per second");
    if (role == Role::efficiency && !(to > kLeastEfficiency && to <= 1))
      value.fail("an efficiency must be above 0.001 and at most 1");
  }
  void operator()(const char* key, Nanos& to, Role role) const {
    const JsonValue value = may_lack(role) ? object.find(key) : object.required(key);
    if (value) to = value.integer(role == Role::measured ? 1 : 0, kMaxTimeNs, "time");
  }
  void operator()(const char* key, LoadRule& to, Role) const {
    if (const JsonValue value = object.find(key)) to = read_load_rule(value);
  }
};

// All of them at once: who writes a file by hand wants the whole list.
void check_missing(ObjectReader& object) {
  std::vector<std::string> missing;
  if (!object.find("name")) missing.push_back("name");
  HardwareProfile profile;
  visit_profile(profile, [&](const char* key, auto&, Role role) {
    if (!may_lack(role) && !object.find(key)) missing.push_back(key);
  });
  if (missing.empty()) return;
  std::string list;
  for (const std::string& key : missing) list += (list.empty() ? "" : ", ") + key;
  object.value().fail(missing.size() == 1 ? "the key " + list + " is missing" : "the keys " + list + " are missing",
                      "docs/metrics.md has a whole file to start from");
}

struct ProfileWriter {
  JsonWriter& json;
  void operator()(const char* key, const double& value, Role role) const {
    if (role != Role::token_time || value >= 0) json.real(key, value);
  }
  void operator()(const char* key, const Nanos& value, Role) const {
    if (value != kAbsent) json.integer(key, value);
  }
  void operator()(const char* key, const LoadRule& value, Role) const {
    if (value != LoadRule::additive) json.string(key, to_string(value));
  }
};

}  // namespace

HardwareProfile parse_cost_file(std::string_view text, const std::string& source_name) {
  JsonTree tree;
  const JsonValue root = tree.parse(text, source_name);
  ObjectReader object(root);
  HardwareProfile profile;
  std::set<std::string, std::less<>> known{"name", "measured"};
  visit_profile(profile, [&](const char* key, auto&, Role) { known.insert(key); });
  for (const JsonValue member : root)
    if (!known.contains(member.key())) member.fail("unknown key", "docs/metrics.md lists the keys of a cost file");
  check_missing(object);
  const JsonValue name = object.required("name");
  profile.name = name.string();
  if (profile.name.empty()) name.fail("the name is empty");
  visit_profile(profile, ProfileReader{object});
  if (const JsonValue measured = object.find("measured")) profile.measured = read_calibration(measured);
  return profile;
}

std::string to_json(const HardwareProfile& profile) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("name", profile.name);
  visit_profile(profile, ProfileWriter{json});
  if (profile.measured) {
    json.key("measured");
    write_calibration(json, *profile.measured);
  }
  json.close('}');
  return out;
}

}  // namespace afore::wire
