#pragma once
// Runs of a model on the CUDA device over its stand-in, and on the CPU, driven alike.
#include "device/cpu/cpu_device.h"
#include "device/plugin.h"
#include "drive.h"
#include "kernels/shim/schedule.h"
#include "kernels/shim/settings.h"

extern "C" afore::device::Plugin* afore_device_plugin(const char* version, const char** why);

namespace afore::device {

inline const std::filesystem::path kRoot = AFORE_SOURCE_DIR;

inline const nn::Model& tiny_model() {
  static const nn::Model model = nn::open_model(kRoot / "models/tiny");
  return model;
}

inline Plugin& plugin() {
  const char* why = "";
  return *afore_device_plugin(AFORE_VERSION, &why);
}

// A machine and a setup of workers on it.
struct RunSetup {
  int gpus = 1;
  bool peers = true;
  std::uint64_t schedule = 0;  // of the stand-in
  int microbatches = 1;
  std::int64_t chunk = 1000;  // prompt tokens a step
  DeviceOptions options{1, 1, Combine::exact, 1024, 16};
  DriveOptions drive;
};

struct Conversation {
  std::vector<int> prompt;
  SamplingOptions sampling;
};

// What a run computed, by conversation.
struct Transcript {
  std::vector<std::vector<int>> tokens;                 // sampled behind the prompt
  std::vector<std::vector<std::vector<float>>> logits;  // each token was chosen from
  std::int64_t copies = 0, gate_tokens = 0;
};

// Every prompt in chunks, then `tokens` tokens of each. Conversations go round on attention workers and microbatches.
inline Transcript converse(const nn::Model& model, Device& device, const RunSetup& setup,
                           const std::vector<Conversation>& conversations, int tokens) {
  Driver driver(model, device, setup.options, setup.drive);
  const std::size_t count = conversations.size();
  std::vector<Sequence> sequences(count);
  std::vector<std::size_t> fed(count, 0);
  std::vector<int> next(count, -1);
  Transcript out;
  out.tokens.resize(count);
  out.logits.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    sequences[i].worker = static_cast<int>(i) % setup.options.attention_workers;
    sequences[i].sampling = conversations[i].sampling;
  }
  const auto done = [&](std::size_t i) { return std::ssize(out.tokens[i]) >= tokens; };
  while (true) {
    std::vector<std::vector<Fed>> step(static_cast<std::size_t>(setup.microbatches));
    std::vector<std::vector<std::size_t>> who(step.size());
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (done(i)) continue;
      any = true;
      const std::vector<int>& prompt = conversations[i].prompt;
      Fed next_fed{&sequences[i], {next[i]}};
      if (fed[i] < prompt.size()) {
        const auto from = prompt.begin() + static_cast<std::int64_t>(fed[i]);
        const auto take = std::min<std::int64_t>(setup.chunk, std::ssize(prompt) - static_cast<std::int64_t>(fed[i]));
        next_fed.ids.assign(from, from + take);
        fed[i] += static_cast<std::size_t>(take);
        if (fed[i] < prompt.size()) sequences[i].sampled = 0;
      }
      step[i % step.size()].push_back(next_fed);
      who[i % step.size()].push_back(i);
    }
    if (!any) break;
    // How many tokens were chosen counts those behind the prompt alone.
    for (std::size_t i = 0; i < count; ++i) sequences[i].sampled = out.tokens[i].size();
    const auto sampled = driver.step(step);
    for (std::size_t m = 0; m < step.size(); ++m)
      for (std::size_t k = 0; k < who[m].size(); ++k) {
        const std::size_t i = who[m][k];
        if (fed[i] < conversations[i].prompt.size()) continue;
        next[i] = sampled[m][k];
        out.tokens[i].push_back(sampled[m][k]);
        out.logits[i].push_back(sequences[i].logits);
      }
  }
  out.copies = driver.copies();
  for (int a = 0; a < setup.options.attention_workers; ++a) out.gate_tokens += driver.attention(a).gate_tokens();
  return out;
}

inline std::unique_ptr<Device> open_cuda(const nn::Model& model, const DeviceOptions& options) {
  return plugin().open(model.config, model.tensors, options);
}

inline Transcript on_cuda(const nn::Model& model, const RunSetup& setup, const std::vector<Conversation>& conversations,
                          int tokens) {
  shim::set_devices(setup.gpus);
  shim::set_peer_access(setup.peers);
  shim::set_schedule(setup.schedule);
  const auto device = open_cuda(model, setup.options);
  return converse(model, *device, setup, conversations, tokens);
}

inline Transcript on_cpu(const nn::Model& model, RunSetup setup, const std::vector<Conversation>& conversations,
                         int tokens) {
  setup.options.tile_tokens = cpu::kTileTokens;
  const cpu::AttentionWeights weights(model);
  cpu::CpuDevice device(model, weights, setup.options, cpu::best_isa(), 1);
  return converse(model, device, setup, conversations, tokens);
}

inline std::vector<int> some_tokens(Rng& rng, std::int64_t count, int vocab) {
  std::vector<int> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(vocab))));
  return ids;
}

}  // namespace afore::device
