#pragma once
// The model's side of the endpoint: requests go to the serving loop, what the loop says goes to their listeners.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "host/live_requests.h"
#include "host/sequences.h"
#include "http/backend.h"
#include "http/live_records.h"
#include "pipeline/planner.h"

namespace afore::http {

// All of it outlives the backend.
struct LiveParts {
  const nn::Tokenizer& tokenizer;
  const nn::ChatTemplate* chat_template = nullptr;
  host::LiveRequests& requests;
  LiveRecords& records;
  std::function<void(const pipeline::PlannerOptions&)> change_plans;  // Error{usage}; from any thread
  std::function<std::string()> not_ready;                             // Backend::not_ready(), from any thread
  std::function<std::string()> metrics;                               // Backend::metrics(), from any thread
};

class LiveBackend final : public Backend {
 public:
  LiveBackend(ModelCard card, LiveParts parts, const pipeline::PlannerOptions& planner);

  // By the thread that serves.
  void on_token(const std::string& id, std::string_view text, std::int64_t tokens);
  void on_end(const Completion& completion);
  // The model is gone: whoever still waits is told, with finish_reason "error".
  void end_all();

  const ModelCard& model() const override { return card_; }
  const nn::Tokenizer& tokenizer() const override { return parts_.tokenizer; }
  const nn::ChatTemplate* chat_template() const override { return parts_.chat_template; }
  host::Submission submit(const std::string& id, host::Prompt prompt, std::int64_t max_tokens,
                          std::shared_ptr<Listener> listener) override;
  void cancel(const std::string& id) override;
  std::string not_ready() const override { return parts_.not_ready(); }
  std::string metrics() override { return parts_.metrics(); }
  std::string placement() override;
  void set_frozen(bool frozen) override;
  bool frozen();
  void set_policy(const std::string& policy) override;
  void subscribe(LineSink sink) override { parts_.records.subscribe(std::move(sink)); }

 private:
  void change(bool frozen, const std::string& policy);

  const ModelCard card_;
  LiveParts parts_;

  std::mutex plans_mutex_;
  pipeline::PlannerOptions planner_;  // when nothing is frozen
  bool frozen_ = false;

  std::mutex listeners_mutex_;  // held while a listener is called, so that cancel() is the end of its calls
  std::unordered_map<std::string, std::shared_ptr<Listener>> listeners_;
};

}  // namespace afore::http
