#pragma once
// A model that says what a test tells it to, or counts: "0 1 2 ...".
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "../support/byte_tokenizer.h"
#include "http/backend.h"
#include "util/error.h"

namespace afore::http {

class FakeBackend : public Backend {
 public:
  struct Submitted {
    std::string id;
    host::Prompt prompt;
    std::int64_t max_tokens = 0;
    std::shared_ptr<Listener> listener;
    std::string text;
    std::int64_t tokens = 0;
  };

  ~FakeBackend() override {
    counting = false;
    if (counter_.joinable()) counter_.join();
  }

  const ModelCard& model() const override { return card; }
  const nn::Tokenizer& tokenizer() const override { return tokenizer_; }
  const nn::ChatTemplate* chat_template() const override { return has_template ? &template_ : nullptr; }

  host::Submission submit(const std::string& id, host::Prompt prompt, std::int64_t max_tokens,
                          std::shared_ptr<Listener> listener) override {
    const std::lock_guard lock(mutex_);
    if (throws) throw std::runtime_error("a secret of /the/host");
    if (submission != host::Submission::accepted) return submission;
    order_.push_back(id);
    open_[id] = {id, std::move(prompt), max_tokens, std::move(listener), {}, 0};
    changed_.notify_all();
    return host::Submission::accepted;
  }
  void cancel(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    if (open_.erase(id) > 0) cancelled_.insert(id);
    changed_.notify_all();
  }

  std::string not_ready() const override { return reason; }
  std::string metrics() override { return "# TYPE afore_fake gauge\nafore_fake 1\n"; }
  std::string placement() override { return "{\"layers\":[]}"; }
  void set_frozen(bool frozen) override { is_frozen = frozen; }
  void set_policy(const std::string& name) override {
    if (name == "slow") {
      entered = true;
      while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (name != "afore") throw Error(ErrorKind::usage, "there is no policy '" + name + "'");
    const std::lock_guard lock(mutex_);
    policy_ = name;
  }
  void subscribe(LineSink sink) override {
    const std::lock_guard lock(mutex_);
    if (sink(std::make_shared<const std::string>("{\"kind\":\"header\"}\n"))) sinks_.push_back(std::move(sink));
    changed_.notify_all();
  }

  // What the tests do with it.

  // The `n`th request that was accepted, once it was.
  std::string submitted(std::size_t n = 0) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return order_.size() > n; })) return "never came";
    return order_[n];
  }
  host::Prompt prompt(std::size_t n = 0) {
    const std::string id = submitted(n);
    const std::lock_guard lock(mutex_);
    return open_.at(id).prompt;
  }
  std::int64_t max_tokens(std::size_t n = 0) {
    const std::string id = submitted(n);
    const std::lock_guard lock(mutex_);
    return open_.at(id).max_tokens;
  }
  bool say(const std::string& id, std::string_view text) {
    const std::lock_guard lock(mutex_);
    return say_locked(id, text);
  }
  void end(const std::string& id, const char* reason_why = "stop", std::string_view rest = {},
           const char* reject_reason = "") {
    const std::lock_guard lock(mutex_);
    end_locked(id, reason_why, rest, reject_reason);
  }
  bool was_cancelled(const std::string& id, std::chrono::milliseconds within) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [&] { return cancelled_.contains(id); });
  }
  std::size_t cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_.size();
  }
  std::size_t open() {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }
  std::size_t subscribers(std::size_t at_least) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return sinks_.size() >= at_least; });
    return sinks_.size();
  }
  void tell(const std::string& lines) {
    const std::lock_guard lock(mutex_);
    const auto shared = std::make_shared<const std::string>(lines);
    std::erase_if(sinks_, [&](const LineSink& sink) { return !sink(shared); });
  }
  std::string policy() {
    const std::lock_guard lock(mutex_);
    return policy_;
  }

  // From now on every request gets a token of each turn, and one turn takes `gap`.
  void count(std::chrono::microseconds gap) {
    counter_ = std::thread([this, gap] {
      while (counting) {
        turn();
        std::this_thread::sleep_for(gap);
      }
    });
  }

  ModelCard card{"fake", 1700000000, 64};
  std::atomic<host::Submission> submission{host::Submission::accepted};
  bool has_template = false, throws = false;
  std::string reason;
  std::atomic<bool> is_frozen{false}, counting{true};
  std::atomic<bool> entered{false}, released{false};  // of the policy "slow", which takes until it is released

 private:
  bool say_locked(const std::string& id, std::string_view text) {
    const auto found = open_.find(id);
    if (found == open_.end()) return false;
    found->second.text += text;
    found->second.listener->on_token(text, ++found->second.tokens);
    return true;
  }
  void end_locked(const std::string& id, const char* reason_why, std::string_view rest, const char* reject_reason) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    const Submitted request = std::move(found->second);
    open_.erase(found);
    Completion completion;
    completion.id = id;
    completion.prompt_tokens = static_cast<std::int64_t>(request.prompt.token_ids.size());
    completion.output_tokens = request.tokens;
    completion.finish_reason = reason_why;
    completion.reject_reason = reject_reason;
    completion.text = request.text + std::string(rest);
    request.listener->on_end(completion);
  }
  void turn() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const auto& [id, request] : open_) ids.push_back(id);
    for (const std::string& id : ids) {
      const Submitted& request = open_.at(id);
      say_locked(id, std::to_string(request.tokens) + " ");
      if (request.tokens == request.max_tokens) end_locked(id, "length", {}, "");
    }
  }

  nn::Tokenizer tokenizer_ = byte_tokenizer();
  nn::ChatTemplate template_{"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", "", "", "template"};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Submitted> open_;
  std::vector<std::string> order_;
  std::set<std::string> cancelled_;
  std::vector<LineSink> sinks_;
  std::string policy_;
  std::thread counter_;
};

}  // namespace afore::http
