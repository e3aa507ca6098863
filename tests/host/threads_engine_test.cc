// What a run on threads does beside computing: copies between workers' memories, and how it ends.
#include <dirent.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "real_model.h"
#include "util/error.h"

namespace afore::host {
namespace {

ModelRun busy_run(std::int64_t requests = 12) {
  Draw draw{7};
  ModelRun run = plain_run(random_requests(draw, requests));
  for (IncomingRequest& request : run.requests) request.record.arrival_ns = 0;
  return run;
}

int threads_here() {
  int threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (readdir(tasks) != nullptr) ++threads;
  closedir(tasks);
  return threads - 2;  // . and ..
}

// The run ends with this error, and with all of its threads.
template <class Body>
void expect_error(ErrorKind kind, const std::string& part, Body&& body) {
  std::thread([] {}).join();  // the thread sanitizer's own thread starts with the first one
  const int before = threads_here();
  try {
    body();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_EQ(threads_here(), before);
}

// --- Copies

struct Maps {  // of the layers, as plans change them
  std::map<int, LayerPlacement> layers;
  std::int64_t copies = 0;

  ThreadSink sink(ThreadRunner*& runner) {
    ThreadSink to;
    to.planned = [this, &runner](const Batch*, const Demand& demand, const pipeline::PlannedTarget& planned) {
      const int layer = demand.target.layer;
      LayerPlacement& map = layers.try_emplace(layer, runner->engine().first_placement(layer)).first->second;
      for (const Copy& copy : planned.plan.copies) map.set(copy.to, copy.slot, copy.expert);
      copies += static_cast<std::int64_t>(planned.plan.copies.size());
    };
    return to;
  }
};

TEST(ThreadsCopies, MoveTheExpertsBytes) {
  ModelRun run = busy_run();
  set_workers(run, 1, 4, 2);
  ThreadRunner* at = nullptr;
  Maps maps;
  ThreadRunner runner(tiny_model(), run.threads, run.planner, maps.sink(at), {});
  at = &runner;
  on_workers(runner, run);
  ASSERT_GT(maps.copies, 0);
  EXPECT_EQ(runner.engine().copies_done(), maps.copies);
  std::int64_t moved = 0;
  std::vector<std::byte> expected(device::cpu::expert_shape(tiny_model().config()).bytes());
  for (const auto& [layer, map] : maps.layers)
    for (int w = 0; w < map.workers(); ++w)
      for (int s = 0; s < map.slots_per_worker(); ++s) {
        const int expert = map.expert_at(w, s);
        if (expert == kNoExpert) continue;
        moved += expert != runner.engine().first_placement(layer).expert_at(w, s);
        device::cpu::load_expert(tiny_model().model, layer, expert, expected.data());
        const std::vector<std::byte> bytes = runner.engine().ffn_device(w).read(runner.engine().slot_index(layer, s));
        ASSERT_EQ(bytes.size(), expected.size());
        EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0)
            << "expert " << expert << " of layer " << layer << " on F" << w;
      }
  EXPECT_GT(moved, 0);
}

TEST(ThreadsCopies, SummaryCountsThemAndTheirTargets) {
  const ModelRun run = busy_run();
  std::int64_t planned = 0, targets = 0;
  ThreadSink sink;
  sink.planned = [&](const Batch*, const Demand&, const pipeline::PlannedTarget& target) {
    planned += static_cast<std::int64_t>(target.plan.copies.size());
    ++targets;
  };
  ThreadRunner runner(tiny_model(), run.threads, run.planner, sink, {});
  on_workers(runner, run);
  const Summary summary = runner.engine().summary();
  EXPECT_EQ(summary.copies, planned);
  EXPECT_EQ(summary.targets, targets);
  EXPECT_EQ(summary.host, "threads");
  ASSERT_TRUE(summary.plan_ns);
  EXPECT_GT(summary.plan_ns->mean, 0);
}

// --- Combine

// Sums in another order differ in the last bits. They are seen only where a gate was about to choose otherwise, which
// changes more than bits: rare, and allowed for one token in fifty.
constexpr float kTolerance = 1e-3f;

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// How far the likeliest is ahead of the next.
float margin(std::vector<float> logits) {
  std::partial_sort(logits.begin(), logits.begin() + 2, logits.end(), std::greater<>());
  return logits[0] - logits[1];
}

class ThreadsPartial : public testing::TestWithParam<device::cpu::Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, ThreadsPartial, testing::ValuesIn(isas()),
                         [](const auto& tested) { return to_string(tested.param); });

TEST_P(ThreadsPartial, IsNearExactAndSaysTheSameWhereThatIsClear) {
  ModelRun run = busy_run(60);
  for (IncomingRequest& request : run.requests) {
    auto prompt = std::make_shared<Prompt>(*request.prompt);
    prompt->temperature = 0;
    request.prompt = std::move(prompt);
  }
  set_workers(run, 2, 4, 2);
  run.threads.isa = GetParam();
  const Answers exact = in_one_piece(run);
  run.threads.combine = device::Combine::partial;
  ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
  const Answers partial = on_workers(runner, run);
  ASSERT_EQ(partial.completions.size(), exact.completions.size());
  int compared = 0, near = 0;
  for (const IncomingRequest& request : run.requests) {
    const auto& want = exact.completions.at(request.record.id).token_ids;
    const auto& got = partial.completions.at(request.record.id).token_ids;
    for (std::uint64_t at = 0; at < std::min(want.size(), got.size()); ++at) {
      const std::vector<float>& logits = exact.logits.at({request.prompt->seed, at});
      const float difference = largest_difference(logits, partial.logits.at({request.prompt->seed, at}));
      ++compared;
      near += difference <= kTolerance;
      const bool clear = difference <= kTolerance && margin(logits) > 2 * kTolerance;
      EXPECT_TRUE(!clear || got[at] == want[at]) << request.record.id << ", token " << at;
      if (got[at] != want[at]) break;  // what follows is of another text
    }
  }
  EXPECT_GT(compared, 200);
  EXPECT_GE(near, compared * 49 / 50);
}

// --- The end

struct Ended {
  Answers answers;
  bool all = false;
};

// Stopped by what `stop_when` says of the completions so far.
Ended serve_until(const ModelRun& run, const std::function<bool(std::size_t)>& stop_when) {
  StopFlag stop{0};
  std::size_t done = 0;
  Watch watch;
  watch.stop = &stop;
  watch.completion = [&](const Completion&) {
    if (stop_when(++done)) stop = 1;
  };
  ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
  Ended ended;
  ended.answers = on_workers(runner, run, watch);
  ended.all = ended.answers.completions.size() == run.requests.size();
  return ended;
}

TEST(ThreadsEnd, ASignalEndsTheRunWithWhatIsComplete) {
  ModelRun run = busy_run(30);
  for (IncomingRequest& request : run.requests) request.record.output_tokens = 1 + (request.prompt->seed * 7) % 13;
  run.serving.serving.max_num_seqs = 4;
  const Answers whole = in_one_piece(run);
  for (const std::size_t after : {1u, 5u, 20u}) {
    const Ended ended = serve_until(run, [&](std::size_t done) { return done >= after; });
    EXPECT_TRUE(ended.answers.interrupted);
    EXPECT_FALSE(ended.all);
    EXPECT_GE(ended.answers.completions.size(), after);
    for (const auto& [id, completion] : ended.answers.completions)
      EXPECT_EQ(completion.token_ids, whole.completions.at(id).token_ids) << id;
    const Summary& s = ended.answers.summary;
    EXPECT_EQ(*s.injected, *s.completed + *s.queued + *s.running + *s.rejected + *s.timed_out);
    EXPECT_EQ(*s.completed, static_cast<std::int64_t>(ended.answers.completions.size()));
  }
}

StopFlag signalled{0};

TEST(ThreadsEnd, ASignalAtAnyMoment) {
  std::signal(SIGUSR1, [](int number) { signalled = number; });
  const pthread_t serving = pthread_self();
  for (std::int64_t seed = 1; seed <= 20; ++seed) {
    Draw draw{static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15u};
    const ModelRun run = random_run(draw);
    SCOPED_TRACE(run.text());
    signalled = 0;
    Watch watch;
    watch.stop = &signalled;
    ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
    const auto wait = std::chrono::microseconds(draw(20'000));
    std::thread signal([&] {
      std::this_thread::sleep_for(wait);
      pthread_kill(serving, SIGUSR1);
    });
    const Answers answers = on_workers(runner, run, watch);
    signal.join();
    const Summary& s = answers.summary;
    EXPECT_EQ(*s.injected, *s.completed + *s.queued + *s.running + *s.rejected + *s.timed_out);
    EXPECT_TRUE(answers.interrupted || answers.completions.size() == run.requests.size());
  }
}

TEST(ThreadsEnd, AtATimeWithThoseWhoRunLeftUnanswered) {
  ModelRun run = busy_run(4);
  for (IncomingRequest& request : run.requests) {
    auto prompt = std::make_shared<Prompt>(*request.prompt);
    prompt->stop.clear();
    prompt->ignore_eos = true;
    request.prompt = std::move(prompt);
    request.record.output_tokens = 900;
  }
  run.threads.kv_budget_tokens = run.serving.serving.kv_budget_tokens = 4096;
  run.serving.end_ns = 10'000'000;
  run.threads.paced = true;  // 900 steps of 4 layers take longer than that anywhere
  const Ended ended = serve_until(run, [](std::size_t) { return false; });
  EXPECT_FALSE(ended.answers.interrupted);
  EXPECT_EQ(ended.answers.completions.size(), 0u);
  EXPECT_EQ(*ended.answers.summary.running + *ended.answers.summary.queued, 4);
}

TEST(ThreadsEnd, AnErrorOfAnAttentionWorkerEndsTheRun) {
  ModelRun run = busy_run();
  run.serving.serving.max_queue += 1;
  run.requests.push_back(ask("odd", {5, tiny_model().config().vocab}, 2, 5000));
  expect_error(ErrorKind::internal, "outside the vocabulary", [&] {
    ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
    on_workers(runner, run);
  });
}

TEST(ThreadsEnd, AnErrorOfTheSchedulerEndsTheRun) {
  ModelRun run = busy_run();
  run.threads.model.top_k = 3;  // the gate chooses 4
  for (const std::int64_t microbatches : {1, 2}) {
    set_workers(run, 1, 2, microbatches);
    expect_error(ErrorKind::internal, "do not add up", [&] {
      ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
      on_workers(runner, run);
    });
  }
}

TEST(ThreadsEnd, AnErrorOfTheSinkEndsTheRun) {
  const ModelRun run = busy_run();
  ThreadSink sink;
  sink.observed = [](const Observed&) { throw Error(ErrorKind::io, "the disk is full"); };
  expect_error(ErrorKind::io, "the disk is full", [&] {
    ThreadRunner runner(tiny_model(), run.threads, run.planner, sink, {});
    on_workers(runner, run);
  });
}

TEST(ThreadsEnd, TheDeadlineNamesWhatWasWaitedFor) {
  ModelRun run = busy_run();
  run.threads.paced = true;
  run.threads.pipeline_cost.attention_c0_ns = 3'000'000'000;
  run.threads.deadline_ns = 5'000'000;
  expect_error(ErrorKind::io, "its step did not end within 5 ms", [&] {
    ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
    on_workers(runner, run);
  });
}

// A copy of the model with one value that is not a number.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("afore-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
    for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "model.safetensors"})
      std::filesystem::copy_file(std::filesystem::path(AFORE_SOURCE_DIR "/models/tiny") / name, path_ / name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

  void spoil(const std::string& tensor) {
    std::fstream file(path_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof size);
    std::string header(size, ' ');
    file.read(header.data(), static_cast<std::streamsize>(size));
    const std::string key = "\"data_offsets\": [";
    const std::size_t at = header.find(key, header.find('"' + tensor + '"')) + key.size();
    const std::uint16_t not_a_number = 0x7fc1;
    file.seekp(static_cast<std::streamoff>(sizeof size + size) + std::atoll(header.c_str() + at));
    file.write(reinterpret_cast<const char*>(&not_a_number), sizeof not_a_number);
  }

 private:
  std::filesystem::path path_;
};

TEST(ThreadsEnd, AnExpertThatCannotBeLoadedIsAnError) {
  Folder folder;
  folder.spoil("model.layers.2.mlp.experts.7.up_proj.weight");
  const LoadedModel model(folder.path());
  ModelRun run = busy_run();
  for (const char* policy : {"afore", "ideal"}) {
    run.planner.policy = policy;
    expect_error(ErrorKind::data, "layers.2.mlp.experts.7.up_proj",
                 [&] { ThreadRunner(model, run.threads, run.planner, {}, {}); });
  }
}

}  // namespace
}  // namespace afore::host
