#pragma once
// Pipelines of a few lines under a serving loop: a step takes a fixed time, tokens are numbers.
#include <gtest/gtest.h>

#include <map>

#include "host/serving_loop.h"
#include "load.h"
#include "util/stop_flag.h"

namespace afore::host {

inline const StopFlag kNoSignal{0};
constexpr Nanos kStepNs = 100;

using Log = std::vector<std::string>;

// Microbatches are sampled in the order in which they began, kStepNs apart. Every request samples 1, 2, 3 ... and ends
// with the token its prompt's seed names.
class Runner final : public StepRunner {
 public:
  Nanos now() const override { return now_ns; }
  Nanos copying_ns() const override { return 0; }
  void on_admitted(int slot, const IncomingRequest& request) override {
    EXPECT_TRUE(running.emplace(slot, Running{request.record.id, request.prompt, {}}).second) << "admitted twice";
    log.push_back("admit " + request.record.id);
  }
  void on_closed(int slot) override {
    log.push_back("close " + running.at(slot).id);
    running.erase(slot);
  }
  void begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed, const Batch& record,
                  Phase phase) override {
    log.push_back("begin " + std::to_string(step) + "/" + std::to_string(microbatch) + " " + to_string(phase));
    EXPECT_EQ(record.step, step);
    EXPECT_EQ(record.sequences, static_cast<std::int64_t>(composed.chunks.size()));
    for (const batch::Chunk& chunk : composed.chunks) EXPECT_TRUE(running.contains(chunk.slot));
    done_ns[microbatch] = last_done_ns = std::max(now_ns, last_done_ns) + kStepNs;
    chunks[microbatch] = composed.chunks;
  }
  void next_layer(int microbatch, std::size_t layer) override {
    log.push_back("layer " + std::to_string(layer) + "/" + std::to_string(microbatch));
  }
  bool wait_sampled(int microbatch, const RunLimits& limits) override {
    const Nanos done = done_ns.at(microbatch);
    if (limits.end_ns && *limits.end_ns <= done) {
      now_ns = std::max(now_ns, *limits.end_ns);
      return false;
    }
    now_ns = std::max(now_ns, done);
    if (on_sampled) on_sampled();
    if (limits.signalled()) return false;
    for (const batch::Chunk& chunk : chunks[microbatch])
      if (chunk.samples) running.at(chunk.slot).tokens.push_back(std::ssize(running.at(chunk.slot).tokens) + 1);
    return true;
  }
  bool ends(int slot) override {
    const Running& mine = running.at(slot);
    return mine.prompt && static_cast<std::uint64_t>(mine.tokens.back()) == mine.prompt->seed;
  }
  void fill(int slot, Completion& completion) override {
    completion.token_ids = running.at(slot).tokens;
    completion.text = "text of " + running.at(slot).id;
  }
  void wait_until(Nanos at_ns, const RunLimits&) override {
    now_ns = std::max(now_ns, at_ns);
    log.push_back("wait " + std::to_string(at_ns));
  }
  void on_idle() override { log.push_back("idle"); }
  void finish() override { log.push_back("finish"); }

  struct Running {
    std::string id;
    std::shared_ptr<const Prompt> prompt;
    std::vector<std::int64_t> tokens;
  };
  std::function<void()> on_sampled;
  Log log;
  Nanos now_ns = 0, last_done_ns = 0;
  std::map<int, Running> running;  // by slot
  std::map<int, Nanos> done_ns;
  std::map<int, std::vector<batch::Chunk>> chunks;
};

inline IncomingRequest asked(std::string id, Nanos arrival, std::int64_t prompt_tokens, std::int64_t output_tokens,
                             std::int64_t last_token = 0) {
  IncomingRequest request;
  request.record = {std::move(id), arrival, prompt_tokens, output_tokens, "", 0};
  auto prompt = std::make_shared<Prompt>();
  prompt->seed = static_cast<std::uint64_t>(last_token);
  request.prompt = std::move(prompt);
  return request;
}

inline ServingLoopOptions plain(int microbatches = 1) {
  ServingLoopOptions options;
  options.serving.microbatches = microbatches;
  options.layers = 2;
  return options;
}

// Takes no notes: for long runs, and for those in true time.
class BareRunner : public StepRunner {
 public:
  void on_admitted(int, const IncomingRequest&) override {}
  void on_closed(int) override {}
  Nanos copying_ns() const override { return 0; }
  void begin_step(std::int64_t, int, const batch::ServingStep&, const Batch&, Phase) override {}
  void next_layer(int, std::size_t) override {}
  bool ends(int) override { return false; }
  void fill(int, Completion&) override {}
  void wait_until(Nanos, const RunLimits&) override {}
  void finish() override {}
};

}  // namespace afore::host
