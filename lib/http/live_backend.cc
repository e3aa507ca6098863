#include "http/live_backend.h"

#include "pipeline/standing_plans.h"
#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::http {

LiveBackend::LiveBackend(ModelCard card, LiveParts parts, const pipeline::PlannerOptions& planner)
    : card_(std::move(card)), parts_(std::move(parts)), planner_(planner) {}

host::Submission LiveBackend::submit(const std::string& id, host::Prompt prompt, std::int64_t max_tokens,
                                     std::shared_ptr<Listener> listener) {
  host::IncomingRequest request;
  request.record.id = id;
  request.record.prompt_tokens = static_cast<std::int64_t>(prompt.token_ids.size());
  request.record.output_tokens = max_tokens;
  request.prompt = std::make_shared<const host::Prompt>(std::move(prompt));
  {
    const std::lock_guard lock(listeners_mutex_);  // before the model can have anything to say
    listeners_.emplace(id, std::move(listener));
  }
  const host::Submission submission = parts_.requests.submit(std::move(request));
  if (submission == host::Submission::accepted) return submission;
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(id);
  return submission;
}

void LiveBackend::cancel(const std::string& id) {
  {
    const std::lock_guard lock(listeners_mutex_);
    if (listeners_.erase(id) == 0) return;
  }
  parts_.requests.cancel(id);
}

void LiveBackend::on_token(const std::string& id, std::string_view text, std::int64_t tokens) {
  const std::lock_guard lock(listeners_mutex_);
  const auto it = listeners_.find(id);
  if (it != listeners_.end()) it->second->on_token(text, tokens);
}

void LiveBackend::on_end(const Completion& completion) {
  const std::lock_guard lock(listeners_mutex_);
  const auto it = listeners_.find(completion.id);
  if (it == listeners_.end()) return;
  it->second->on_end(completion);
  listeners_.erase(it);
}

void LiveBackend::end_all() {
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& [id, listener] : listeners_) {
    Completion completion;
    completion.id = id;
    completion.finish_reason = "error";
    listener->on_end(completion);
  }
  listeners_.clear();
}

std::string LiveBackend::placement() {
  const std::vector<PlacementRecord> placements = parts_.records.placements();
  std::string out;
  wire::JsonWriter json(out);
  const std::lock_guard lock(plans_mutex_);
  json.open('{');
  json.string("policy", planner_.policy);
  json.boolean("frozen", frozen_);
  json.key("placements");
  json.open('[');
  for (const PlacementRecord& record : placements) {
    json.separate();
    out += wire::to_json(record);
  }
  json.close(']');
  json.close('}');
  return out;
}

void LiveBackend::change(bool frozen, const std::string& policy) {
  pipeline::PlannerOptions planner = planner_;
  planner.policy = policy;
  parts_.change_plans(frozen ? pipeline::exact_split(planner) : planner);
  planner_ = std::move(planner);
  frozen_ = frozen;
}

void LiveBackend::set_frozen(bool frozen) {
  const std::lock_guard lock(plans_mutex_);
  if (frozen != frozen_) change(frozen, planner_.policy);
}

bool LiveBackend::frozen() {
  const std::lock_guard lock(plans_mutex_);
  return frozen_;
}

void LiveBackend::set_policy(const std::string& policy) {
  const std::lock_guard lock(plans_mutex_);
  // What is frozen stays so; a name that does not exist is refused all the same.
  pipeline::Planner::check_change(planner_.policy, policy);
  if (policy != planner_.policy) change(frozen_, policy);
}

}  // namespace afore::http
