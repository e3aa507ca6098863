// Whatever the workers, the policy and the cuts of steps: the same bits as the whole model on one thread.
#include <cstdlib>
#include <cstring>

#include "real_model.h"

namespace afore::host {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::int64_t kSeeds = 12;
#else
constexpr std::int64_t kSeeds = 48;
#endif

// scripts/soak asks for more, from a first one on.
std::int64_t number(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

void expect_same(const SampledLogits& got, const SampledLogits& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [key, logits] : want) {
    const auto it = got.find(key);
    ASSERT_NE(it, got.end()) << "token " << key.second << " of the request with seed " << key.first;
    ASSERT_EQ(it->second.size(), logits.size());
    ASSERT_EQ(std::memcmp(it->second.data(), logits.data(), logits.size() * sizeof(float)), 0)
        << "token " << key.second << " of the request with seed " << key.first;
  }
}

void expect_same(const std::map<std::string, Completion>& got, const std::map<std::string, Completion>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [id, completion] : want) {
    const Completion& mine = got.at(id);
    EXPECT_EQ(mine.token_ids, completion.token_ids) << id;
    EXPECT_EQ(mine.text, completion.text) << id;
    EXPECT_EQ(mine.finish_reason, completion.finish_reason) << id;
    EXPECT_EQ(mine.reject_reason, completion.reject_reason) << id;
    EXPECT_EQ(mine.output_tokens, completion.output_tokens) << id;
  }
}

// All pages of an attention worker's cache are there to be taken.
void expect_no_pages_held(device::PagePool& cache, std::int64_t tokens) {
  std::vector<std::int32_t> pages;
  EXPECT_NO_THROW(cache.extend(pages, tokens));
  cache.release(pages);
}

// What the stream said while the run went on.
struct Told {
  std::int64_t targets = 0, tokens = 0, copies = 0, observed = 0;
  std::map<std::string, std::string> text;
  std::map<std::string, std::int64_t> goes_on;  // tokens behind which more came
};

void check(const ModelRun& run, Told& told) {
  ThreadSink sink;
  sink.planned = [&](const Batch*, const Demand& demand, const pipeline::PlannedTarget& planned) {
    told.targets += 1;
    told.tokens += demand.tokens;
    told.copies += static_cast<std::int64_t>(planned.plan.copies.size());
  };
  sink.observed = [&](const Observed&) { told.observed += 1; };
  const auto text = [&](const std::string& id, std::string_view part, std::int64_t tokens, bool last) {
    told.text[id] += part;
    if (last) return;
    EXPECT_EQ(tokens, ++told.goes_on[id]) << id;
  };
  ThreadRunner runner(tiny_model(), run.threads, run.planner, sink, text);
  const Answers got = on_workers(runner, run);
  const Answers want = in_one_piece(run);
  expect_same(got.completions, want.completions);
  expect_same(got.logits, want.logits);

  EXPECT_FALSE(got.interrupted);
  EXPECT_EQ(*got.summary.injected, static_cast<std::int64_t>(run.requests.size()));
  EXPECT_EQ(*got.summary.completed + *got.summary.rejected, *got.summary.injected);
  EXPECT_EQ(runner.engine().gate_tokens(), told.tokens) << "a gate ran more or less than once per token and layer";
  EXPECT_EQ(told.observed, told.targets);
  EXPECT_EQ(runner.engine().copies_done(), told.copies);
  std::int64_t computed = 0;
  for (const auto& [id, completion] : got.completions) {
    EXPECT_EQ(told.text[id], completion.text) << id;
    if (completion.finish_reason != "rejected") computed += completion.prompt_tokens + completion.output_tokens - 1;
  }
  EXPECT_EQ(told.tokens, computed * static_cast<std::int64_t>(run.serving.layers));
  for (int a = 0; a < run.threads.cluster.attention_workers; ++a)
    expect_no_pages_held(runner.engine().attention(a).device().pages(), run.threads.kv_budget_tokens);
}

TEST(ThreadsProperty, TheSameBitsAsInOnePiece) {
  const std::int64_t first = number("AFORE_THREADS_FIRST_SEED", 1), seeds = number("AFORE_THREADS_SEEDS", kSeeds);
  std::int64_t targets = 0, copies = 0;
  for (std::int64_t seed = first; seed < first + seeds; ++seed) {
    Draw draw{static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15u};
    const ModelRun run = random_run(draw);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + run.text());
    Told told;
    ASSERT_NO_THROW(check(run, told));
    if (testing::Test::HasFailure()) return;
    targets += told.targets;
    copies += told.copies;
  }
  RecordProperty("targets", std::to_string(targets));
  RecordProperty("copies", std::to_string(copies));
  if (seeds < kSeeds) return;
  EXPECT_GT(copies, targets / 4) << "replicas hardly moved: the test says little";
}

}  // namespace
}  // namespace afore::host
