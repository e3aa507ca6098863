#include "batch/serving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace afore::batch {
namespace {

ServingOptions small() {
  ServingOptions options;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 10;
  options.kv_budget_tokens = 1 << 20;
  options.max_queue = 100;
  return options;
}

// "slot:first+tokens", a star where a token is sampled.
std::string text(const ServingStep& step) {
  std::string line;
  for (const Chunk& chunk : step.chunks) {
    if (!line.empty()) line += ' ';
    line += std::to_string(chunk.slot) + ":" + std::to_string(chunk.first) + "+" + std::to_string(chunk.tokens);
    if (chunk.samples) line += '*';
  }
  return line;
}

std::string turn(ServingBatcher& batcher, int microbatch = 0) {
  const ServingStep& step = batcher.compose(0, microbatch);
  const std::string line = text(step);
  if (!step.chunks.empty()) {
    const auto finished = batcher.complete(microbatch);
    for (const int slot : std::vector<int>(finished.begin(), finished.end())) batcher.release(slot);
  }
  return line;
}

TEST(Serving, DecodesFirstAndCutsPromptsAtTheBudget) {
  ServingBatcher batcher(small());
  batcher.offer(0, 4, 3);
  batcher.offer(0, 13, 2);
  batcher.offer(0, 5, 1);
  EXPECT_EQ(turn(batcher), "0:0+4* 1:0+6");           // the third waits in the queue: no budget is left
  EXPECT_EQ(turn(batcher), "0:4+1* 1:6+7* 2:0+2");    // prompt 1 ends and samples; 2 begins with what is left
  EXPECT_EQ(turn(batcher), "0:5+1* 1:13+1* 2:2+3*");  // all three end: 4+3-1, 13+2-1 and 5+1-1 tokens computed
  EXPECT_EQ(turn(batcher), "");
  EXPECT_EQ(batcher.running(), 0);
  EXPECT_EQ(batcher.kv_reserved(0), 0);
}

TEST(Serving, CountsOfAStep) {
  ServingBatcher batcher(small());
  batcher.offer(0, 4, 3);
  turn(batcher);
  batcher.offer(0, 30, 1);
  const ServingStep& step = batcher.compose(0, 0);
  EXPECT_EQ(text(step), "0:4+1* 1:0+9");
  EXPECT_EQ(step.tokens, 10);
  EXPECT_EQ(step.prefill_tokens, 9);
  EXPECT_EQ(step.kv_tokens, 4);
  EXPECT_EQ(step.per_attention_worker, std::vector<std::int64_t>{2});
  EXPECT_EQ(step.admitted, std::vector<int>{1});
}

TEST(Serving, OneOutputTokenEndsWithThePrompt) {
  ServingBatcher batcher(small());
  batcher.offer(0, 1, 1);
  EXPECT_EQ(turn(batcher), "0:0+1*");
  EXPECT_EQ(batcher.running(), 0);
}

TEST(Serving, PromptsAreNeverStarvedByDecoding) {
  ServingOptions options = small();
  options.max_num_seqs = options.max_num_batched_tokens = 4;
  ServingBatcher batcher(options);
  for (int i = 0; i < 3; ++i) batcher.offer(0, 1, 1000);
  EXPECT_EQ(turn(batcher), "0:0+1* 1:0+1* 2:0+1*");
  batcher.offer(0, 3, 1);
  EXPECT_EQ(turn(batcher), "0:1+1* 1:1+1* 2:1+1* 3:0+1");
  EXPECT_EQ(turn(batcher), "0:2+1* 1:2+1* 2:2+1* 3:1+1");
  EXPECT_EQ(turn(batcher), "0:3+1* 1:3+1* 2:3+1* 3:2+1*");
}

TEST(Serving, MicrobatchesShareEvenlyAndKeepTheirRequests) {
  ServingOptions options = small();
  options.microbatches = 3;
  options.max_num_batched_tokens = 100;
  ServingBatcher batcher(options);
  for (int i = 0; i < 7; ++i) batcher.offer(0, 2, 5);
  EXPECT_EQ(text(batcher.compose(0, 0)), "0:0+2* 1:0+2* 2:0+2*");
  EXPECT_EQ(text(batcher.compose(0, 1)), "3:0+2* 4:0+2* 5:0+2*");
  EXPECT_EQ(text(batcher.compose(0, 2)), "6:0+2*");
  for (int mb = 0; mb < 3; ++mb) batcher.complete(mb);
  batcher.offer(0, 2, 5);  // fits the share of the third alone
  EXPECT_EQ(batcher.compose(0, 0).chunks.size(), 3u);
  EXPECT_EQ(batcher.compose(0, 1).chunks.size(), 3u);
  EXPECT_EQ(text(batcher.compose(0, 2)), "6:2+1* 7:0+2*");
}

TEST(Serving, ALoneRequestStartsAtOnceInWhicheverMicrobatchComesFirst) {
  ServingOptions options = small();
  options.microbatches = 3;
  ServingBatcher batcher(options);
  batcher.offer(0, 2, 2);
  EXPECT_EQ(text(batcher.compose(0, 1)), "0:0+2*");
  EXPECT_TRUE(batcher.compose(0, 2).chunks.empty());
}

TEST(Serving, KvMemoryIsReservedInBlocksOnTheWorkerWithFewestMates) {
  ServingOptions options = small();
  options.attention_workers = 2;
  options.kv_budget_tokens = 64;
  options.max_num_batched_tokens = 100;
  ServingBatcher batcher(options);
  batcher.offer(0, 30, 3);  // 33 tokens are three blocks
  batcher.offer(0, 8, 8);   // one block
  batcher.offer(0, 8, 8);   // the least reserved of two workers with one request each
  batcher.offer(0, 40, 8);  // 48 tokens: fits nowhere now
  batcher.offer(0, 1, 1);   // would fit, but waits behind it: first come, first served
  EXPECT_EQ(batcher.compose(0, 0).chunks.size(), 3u);
  EXPECT_EQ(batcher.at(0).attention_worker, 0);
  EXPECT_EQ(batcher.at(1).attention_worker, 1);
  EXPECT_EQ(batcher.at(2).attention_worker, 1);
  EXPECT_EQ(batcher.kv_reserved(0), 48);
  EXPECT_EQ(batcher.kv_reserved(1), 32);
  EXPECT_EQ(batcher.queued(), 2);
}

TEST(Serving, Refusals) {
  ServingOptions options = small();
  options.kv_budget_tokens = 32;
  options.max_queue = 2;
  ServingBatcher batcher(options);
  EXPECT_EQ(batcher.offer(0, 30, 3).refusal, Refusal::kv_budget);
  EXPECT_EQ(batcher.offer(0, 30, 2).refusal, Refusal::none);
  EXPECT_EQ(batcher.offer(0, 1, 1).refusal, Refusal::none);
  EXPECT_EQ(batcher.offer(0, 1, 1).refusal, Refusal::queue_full);
  EXPECT_EQ(batcher.queued(), 2);
}

TEST(Serving, WaitingEndsAtItsTimeAndRunningAtTheNextStep) {
  ServingOptions options = small();
  options.max_num_seqs = 1;
  options.max_queue_ns = 50;
  options.timeout_ns = 100;
  ServingBatcher batcher(options);
  batcher.offer(0, 1, 1000);
  batcher.compose(0, 0);
  batcher.offer(10, 1, 1);
  batcher.complete(0);
  EXPECT_EQ(text(batcher.compose(59, 0)), "0:1+1*");
  EXPECT_TRUE(batcher.take_given_up().empty());
  batcher.complete(0);
  batcher.compose(90, 0);
  const auto waited = batcher.take_given_up();
  ASSERT_EQ(waited.size(), 1u);
  EXPECT_EQ(waited[0].slot, 1);
  EXPECT_EQ(waited[0].at_ns, 60);  // 10 + 50, not when somebody looked
  EXPECT_EQ(waited[0].refusal, Refusal::queue_time);
  batcher.complete(0);
  EXPECT_EQ(text(batcher.compose(105, 0)), "");
  const auto ran = batcher.take_given_up();
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0].slot, 0);
  EXPECT_EQ(ran[0].at_ns, 105);
  EXPECT_EQ(ran[0].refusal, Refusal::none);
  EXPECT_EQ(batcher.kv_reserved(0), 0);
}

// Everything that must always hold, over random requests, shapes and times.
TEST(Serving, RandomRunsKeepEveryRule) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::uint64_t state = seed * 2 + 1;
    const auto draw = [&](std::int64_t below) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
    };
    ServingOptions options;
    options.microbatches = static_cast<int>(1 + draw(4));
    options.attention_workers = static_cast<int>(1 + draw(4));
    options.max_num_seqs = 1 + draw(6);
    options.max_num_batched_tokens = options.max_num_seqs + draw(30);
    options.kv_budget_tokens = 64 + draw(400);
    options.max_queue = 1 + draw(20);
    if (draw(2)) options.max_queue_ns = draw(3000);
    if (draw(2)) options.timeout_ns = 1 + draw(5000);
    ServingBatcher batcher(options);
    std::int64_t injected = 0, refused = 0, given_up = 0, completed = 0;
    std::map<int, Nanos> last_admitted_arrival;
    Nanos now = 0, newest_admitted = 0;
    const auto collect = [&] {
      for (const GivenUp& gone : batcher.take_given_up()) {
        ++given_up;
        EXPECT_GE(gone.at_ns, batcher.at(gone.slot).arrival_ns);
        batcher.release(gone.slot);
      }
    };
    const int turns = 400;
    for (int t = 0; t < turns || batcher.running() + batcher.queued() > 0; ++t) {
      ASSERT_LT(t, 100'000) << "seed " << seed << ": requests never end";
      for (std::int64_t n = t < turns ? draw(4) : 0; n > 0; --n) {
        ++injected;
        if (batcher.offer(now, 1 + draw(60), 1 + draw(20)).slot < 0) ++refused;
        collect();
      }
      for (int mb = 0; mb < options.microbatches; ++mb) {
        const ServingStep& step = batcher.compose(now, mb);
        collect();
        EXPECT_LE(step.tokens, options.max_num_batched_tokens);
        std::int64_t tokens = 0, prefill = 0, on_workers = 0;
        bool prompts = false, prompt_advances = false;
        for (const Chunk& chunk : step.chunks) {
          const Served& served = batcher.at(chunk.slot);
          EXPECT_EQ(served.microbatch, mb);
          EXPECT_EQ(chunk.first, served.computed);
          const bool in_prompt = chunk.first < served.prompt_tokens;
          EXPECT_LE(in_prompt ? chunk.first + chunk.tokens : chunk.tokens, in_prompt ? served.prompt_tokens : 1);
          EXPECT_EQ(chunk.samples, chunk.first + chunk.tokens >= served.prompt_tokens);
          EXPECT_FALSE(prompts && !in_prompt) << "decoding comes first";
          prompts = prompts || in_prompt;
          prompt_advances = prompt_advances || (in_prompt && chunk.tokens > 0);
          tokens += chunk.tokens;
          prefill += in_prompt ? chunk.tokens : 0;
        }
        EXPECT_EQ(prompts, prompt_advances);
        for (const std::int64_t n : step.per_attention_worker) on_workers += n;
        EXPECT_EQ(on_workers, static_cast<std::int64_t>(step.chunks.size()));
        EXPECT_EQ(tokens, step.tokens);
        EXPECT_EQ(prefill, step.prefill_tokens);
        for (const int slot : step.admitted) {  // first come, first served
          EXPECT_GE(batcher.at(slot).arrival_ns, newest_admitted);
          newest_admitted = batcher.at(slot).arrival_ns;
        }
        for (int a = 0; a < options.attention_workers; ++a) {
          EXPECT_LE(batcher.kv_reserved(a), options.kv_budget_tokens);
          EXPECT_EQ(batcher.kv_reserved(a) % kKvBlockTokens, 0);
        }
        EXPECT_LE(batcher.running(), options.max_num_seqs * options.microbatches);
        EXPECT_LE(batcher.queued(), options.max_queue);
        now += draw(50);
        if (step.chunks.empty()) continue;
        const auto finished = batcher.complete(mb);
        for (const int slot : std::vector<int>(finished.begin(), finished.end())) {
          const Served& served = batcher.at(slot);
          EXPECT_EQ(served.sampled, served.output_tokens);
          EXPECT_EQ(served.computed, served.prompt_tokens + served.output_tokens - 1);
          batcher.release(slot);
          ++completed;
        }
      }
      EXPECT_EQ(injected, completed + refused + given_up + batcher.queued() + batcher.running()) << "seed " << seed;
    }
    for (int a = 0; a < options.attention_workers; ++a) EXPECT_EQ(batcher.kv_reserved(a), 0);
  }
}

}  // namespace
}  // namespace afore::batch
