#pragma once
// A host in a few lines: sequences on attention workers, experts on FFN workers, every target's rows cut at random, and
// experts copied meanwhile. Drives any device through the seam; what is computed must not depend on what it draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "device/device.h"
#include "nn/model.h"
#include "util/rng.h"

namespace afore::device {

// A model that no file has, to change where a test wants it otherwise.
inline nn::ModelConfig small_config(nn::Architecture architecture) {
  nn::ModelConfig config;
  config.architecture = architecture;
  config.layers = 3;
  config.hidden = 64;
  config.vocab = 101;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = config.rotary_dim = 16;
  config.max_positions = 64;
  config.is_moe = {false, true, true};
  config.dense_intermediate = 88;
  config.moe_intermediate = 24;
  config.gate.experts = 12;
  config.gate.top_k = 3;
  return config;
}

struct Sequence {
  int worker = 0;
  SamplingOptions sampling;
  std::vector<std::int32_t> pages;
  std::int64_t position = 0;
  std::uint64_t sampled = 0;
  std::vector<float> logits;  // of the last token sampled
};

// The next tokens of a sequence in a step; as one slice, or one by one.
struct Fed {
  Sequence* sequence = nullptr;
  std::vector<int> ids;
  bool one_by_one = false;
};

struct DriveOptions {
  std::uint64_t seed = 1;
  bool split = false;   // rows of an expert go to any of its replicas
  bool copies = false;  // experts are copied while others compute
  bool hasty = false;   // and used, or overwritten, before the host knows that they are there, or were read
};

class Driver {
 public:
  static constexpr int kSpareSlots = 2;  // per layer and worker

  // `model` and `device` outlive it.
  Driver(const nn::Model& model, Device& device, const DeviceOptions& options, const DriveOptions& drive)
      : model_(model), options_(options), drive_(drive), rng_(drive.seed, "drive") {
    for (int layer = 0; layer < model.config.layers; ++layer)
      if (model.config.is_moe[static_cast<std::size_t>(layer)]) moe_layers_.push_back(layer);
    for (int a = 0; a < options.attention_workers; ++a) {
      attention_.push_back(device.make_attention(a));
      attention_.back()->observe([this](const Step& step, std::span<const float> logits) { keep(step, logits); });
    }
    place_experts(device);
  }

  std::vector<int> moe_layers() const { return moe_layers_; }
  Attention& attention(int worker) { return *attention_[static_cast<std::size_t>(worker)]; }
  std::int64_t copies() const { return copies_done_; }

  // Called when a gate's decision has reached the host.
  std::function<void(const Step& step, int layer)> gated;

  // A step of each microbatch, interleaved layer by layer. Returns the token sampled for each entry, in order.
  std::vector<std::vector<int>> step(const std::vector<std::vector<Fed>>& microbatches) {
    compose(microbatches);
    const std::size_t count = microbatches.size();
    for (std::size_t m = 0; m < count; ++m) each(m, [](Attention& side, Step& mine) { side.begin(mine); });
    for (std::size_t ordinal = 0; ordinal < moe_layers_.size(); ++ordinal) {
      std::vector<std::vector<Ticket>> tickets(count);
      for (std::size_t m = 0; m < count; ++m)
        each(m, [&](Attention& side, Step& mine) { tickets[m].push_back(side.to_gate(mine, moe_layers_[ordinal])); });
      for (std::size_t m = 0; m < count; ++m) {
        wait(m, tickets[m]);
        if (gated) each(m, [&](Attention&, Step& mine) { gated(mine, moe_layers_[ordinal]); });
        experts(m, ordinal);
      }
    }
    std::vector<std::vector<Ticket>> tickets(count);
    for (std::size_t m = 0; m < count; ++m)
      each(m, [&](Attention& side, Step& mine) { tickets[m].push_back(side.sample(mine)); });
    std::vector<std::vector<int>> sampled(count);
    for (std::size_t m = 0; m < count; ++m) {
      wait(m, tickets[m]);
      take(microbatches[m], m, sampled[m]);
    }
    return sampled;
  }

 private:
  using Steps = std::vector<std::unique_ptr<Step>>;  // by attention worker
  using Key = std::pair<std::size_t, int>;           // ordinal of the MoE layer, expert
  struct Replica {
    int worker = 0;
    std::int64_t slot = 0;
  };

  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(below)));
  }

  void place_experts(Device& device) {
    const int experts = model_.config.gate.experts, workers = options_.ffn_workers;
    homes_ = (experts + workers - 1) / workers;
    const std::int64_t slots = std::ssize(moe_layers_) * (homes_ + kSpareSlots);
    for (int w = 0; w < workers; ++w) experts_.push_back(device.make_experts(w, slots));
    for (std::size_t ordinal = 0; ordinal < moe_layers_.size(); ++ordinal)
      for (int e = 0; e < experts; ++e) {
        const Replica home{e % workers, first_slot(ordinal) + e / workers};
        experts_[static_cast<std::size_t>(home.worker)]->load(home.slot, moe_layers_[ordinal], e);
        replicas_[{ordinal, e}] = {home};
      }
  }
  std::int64_t first_slot(std::size_t ordinal) const {
    return static_cast<std::int64_t>(ordinal) * (homes_ + kSpareSlots);
  }

  void compose(const std::vector<std::vector<Fed>>& microbatches) {
    while (steps_.size() < microbatches.size()) {
      Steps& made = steps_.emplace_back();
      for (const auto& side : attention_) made.push_back(side->make_step());
    }
    for (std::size_t m = 0; m < microbatches.size(); ++m) {
      of_slice_[m].assign(attention_.size(), {});
      for (const auto& mine : steps_[m]) {
        mine->slices.clear();
        mine->token_ids.clear();
      }
      for (const Fed& fed : microbatches[m]) add(*steps_[m][static_cast<std::size_t>(fed.sequence->worker)], m, fed);
    }
  }
  void add(Step& to, std::size_t m, const Fed& fed) {
    Sequence& sequence = *fed.sequence;
    const std::int64_t tokens = std::ssize(fed.ids), each = fed.one_by_one ? 1 : tokens;
    for (std::int64_t i = 0; i < tokens; i += each) {
      to.slices.push_back({&sequence.pages, sequence.position + i, each, true, sequence.sampling, sequence.sampled});
      of_slice_[m][static_cast<std::size_t>(sequence.worker)].push_back(&sequence);
    }
    sequence.position += tokens;
    ++sequence.sampled;
    to.token_ids.insert(to.token_ids.end(), fed.ids.begin(), fed.ids.end());
  }

  template <class F>
  void each(std::size_t m, const F& f) {
    for (std::size_t a = 0; a < attention_.size(); ++a) f(*attention_[a], *steps_[m][a]);
  }
  void wait(std::size_t m, const std::vector<Ticket>& tickets) {
    microbatch_ = m;
    for (std::size_t a = 0; a < attention_.size(); ++a) attention_[a]->wait(tickets[a]);
  }

  // The expert FFN of one target, and what its rows add.
  void experts(std::size_t m, std::size_t ordinal) {
    std::vector<std::vector<RowShare>> shares(experts_.size());
    if (drive_.hasty) use_at_once(m, ordinal);
    for (int e = 0; e < model_.config.gate.experts; ++e) {
      if (const std::int64_t count = demand(m, e); count > 0) cut(ordinal, e, count, shares);
    }
    if (drive_.copies) start_copy(static_cast<std::size_t>(draw(std::ssize(moe_layers_))), ordinal);
    std::vector<Step*> parts;
    for (const auto& part : steps_[m]) parts.push_back(part.get());
    std::vector<Ticket> tickets;
    std::vector<bool> used;
    for (std::size_t w = 0; w < experts_.size(); ++w) {
      used.push_back(!shares[w].empty());
      tickets.push_back(used[w] ? experts_[w]->run(parts, shares[w]) : 0);
    }
    if (drive_.hasty && copying_) overwrite_at_once(ordinal);
    for (std::size_t w = 0; w < experts_.size(); ++w)
      if (used[w]) experts_[w]->wait(tickets[w]);
    if (copying_) finish_copy();
    each(m, [&](Attention& side, Step& mine) { side.combine(mine, used); });
  }

  void cut(std::size_t ordinal, int expert, std::int64_t count, std::vector<std::vector<RowShare>>& shares) {
    const std::vector<Replica>& all = replicas_.at({ordinal, expert});
    std::int64_t first = 0;
    for (std::size_t r = 0; r < all.size() && first < count; ++r) {
      const bool last = r + 1 == all.size() || !drive_.split;
      const std::int64_t tokens = last ? count - first : draw(count - first + 1);
      if (tokens == 0) continue;
      shares[static_cast<std::size_t>(all[r].worker)].push_back({expert, first, tokens, all[r].slot});
      first += tokens;
    }
  }

  // Into a spare slot of a layer that does not compute now.
  void start_copy(std::size_t ordinal, std::size_t busy) {
    const int expert = static_cast<int>(draw(model_.config.gate.experts));
    const int to = static_cast<int>(draw(std::ssize(experts_)));
    const Replica from = replicas_.at({ordinal, expert}).front();
    for (const Replica& replica : replicas_.at({ordinal, expert}))
      if (replica.worker == to) return;
    if (ordinal == busy) return;
    const Replica there{to, first_slot(ordinal) + homes_ + draw(kSpareSlots)};
    copy({ordinal, expert}, from, there);
  }
  void copy(const Key& key, const Replica& from, const Replica& there) {
    for (auto& [any, replicas] : replicas_)
      std::erase_if(replicas, [&](const Replica& r) { return r.worker == there.worker && r.slot == there.slot; });
    copy_ = experts_[static_cast<std::size_t>(there.worker)]->copy(*experts_[static_cast<std::size_t>(from.worker)],
                                                                   from.slot, there.slot);
    copying_ = true;
    copied_ = key;
    copied_to_ = there;
  }
  void finish_copy() {
    while (!experts_[static_cast<std::size_t>(copied_to_.worker)]->poll(copy_)) {
    }
    copying_ = false;
    ++copies_done_;
    replicas_.at(copied_).push_back(copied_to_);
  }
  // All of an expert's rows go to a slot that its copy is on the way to.
  void use_at_once(std::size_t m, std::size_t ordinal) {
    int expert = static_cast<int>(draw(model_.config.gate.experts));
    for (int tries = model_.config.gate.experts; tries > 0 && demand(m, expert) == 0; --tries)
      expert = (expert + 1) % model_.config.gate.experts;
    const Replica from{expert % options_.ffn_workers, first_slot(ordinal) + expert / options_.ffn_workers};
    const int to = (from.worker + 1) % options_.ffn_workers;
    const Replica there{to, first_slot(ordinal) + homes_};
    copy({ordinal, expert}, from, there);
    replicas_.at({ordinal, expert}) = {there, from};
  }
  // The slot gets another expert behind the compute that reads it.
  void overwrite_at_once(std::size_t ordinal) {
    const Replica there = copied_to_;
    finish_copy();
    const int other = (copied_.second + 1) % model_.config.gate.experts;
    const Replica from{other % options_.ffn_workers, first_slot(ordinal) + other / options_.ffn_workers};
    copy({ordinal, other}, from, there);
  }
  std::int64_t demand(std::size_t m, int expert) const {
    std::int64_t count = 0;
    for (const auto& part : steps_[m]) count += part->counts[static_cast<std::size_t>(expert)];
    return count;
  }

  void keep(const Step& step, std::span<const float> logits) {
    for (std::size_t a = 0; a < attention_.size(); ++a) {
      if (steps_[microbatch_][a].get() != &step) continue;
      const std::size_t vocab = static_cast<std::size_t>(model_.config.vocab);
      std::size_t at = 0;
      for (Sequence* sequence : of_slice_[microbatch_][a]) {
        const auto mine = logits.subspan(at++ * vocab, vocab);
        sequence->logits.assign(mine.begin(), mine.end());
        all_logits[sequence].push_back(sequence->logits);
      }
    }
  }
  void take(const std::vector<Fed>& fed, std::size_t m, std::vector<int>& sampled) {
    std::vector<std::size_t> next(attention_.size(), 0);
    for (const Fed& one : fed) {
      const auto a = static_cast<std::size_t>(one.sequence->worker);
      next[a] += one.one_by_one ? one.ids.size() : 1;
      sampled.push_back(steps_[m][a]->sampled[next[a] - 1]);
    }
  }

 public:
  std::map<const Sequence*, std::vector<std::vector<float>>> all_logits;  // of every slice, in order

 private:
  const nn::Model& model_;
  DeviceOptions options_;
  DriveOptions drive_;
  Rng rng_;
  std::vector<int> moe_layers_;
  std::vector<std::unique_ptr<Attention>> attention_;
  std::vector<std::unique_ptr<ExpertWorker>> experts_;
  std::int64_t homes_ = 0;
  std::map<Key, std::vector<Replica>> replicas_;
  std::vector<Steps> steps_;  // by microbatch
  std::map<std::size_t, std::vector<std::vector<Sequence*>>> of_slice_;
  std::size_t microbatch_ = 0;  // waited for
  bool copying_ = false;
  Key copied_;
  Replica copied_to_;
  Ticket copy_ = 0;
  std::int64_t copies_done_ = 0;
};

}  // namespace afore::device
