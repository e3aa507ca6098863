// A run on threads whose sums hang or break ends with one error, and with all of its threads.
#include <thread>

#include "../host/real_model.h"
#include "device/cuda/device.h"
#include "fake_sums.h"
#include "kernels/shim/schedule.h"
#include "kernels/shim/settings.h"

namespace afore::host {
namespace {

using device::cuda::FakeSums;

class CudaAbort : public testing::TestWithParam<std::uint64_t> {
 protected:
  CudaAbort() {
    Draw draw{7};
    std::vector<IncomingRequest> requests;
    for (const char* id : {"a", "b", "c", "d"}) requests.push_back(ask(id, words(draw, 3), 3, requests.size()));
    run_ = plain_run(std::move(requests));
    set_workers(run_, 2, 2, 2);
    run_.threads.combine = device::Combine::partial;
    run_.threads.cluster.tile_tokens = 16;
    run_.threads.deadline_ns = 600'000'000'000;
    shim::set_devices(4);
    shim::set_peer_access(true);
    shim::set_schedule(GetParam());
  }
  ~CudaAbort() override {
    shim::set_devices(1);
    shim::set_schedule(0);
  }

  Answers serve(const Watch& watch = {}) {
    const device::DeviceOptions options{2, 2, device::Combine::partial, run_.threads.kv_budget_tokens, 16};
    const nn::Model& model = tiny_model().model;
    ThreadRunner runner(tiny_model(), run_.threads, run_.planner, {}, {},
                        std::make_unique<device::cuda::CudaDevice>(device::cuda::find_gpus(), model.config,
                                                                   model.tensors, options, sums_.maker()));
    return on_workers(runner, run_, watch);
  }
  std::string error() {
    try {
      serve();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  using Fate = FakeSums::Fate;
  void sixth_sum(Fate fate) {
    sums_.fate = [fate](std::size_t group, std::uint64_t sequence) {
      return group == 0 && sequence == 5 ? fate : Fate::ends;
    };
  }

  ModelRun run_;
  FakeSums sums_;
};

TEST_P(CudaAbort, WithoutOneAllIsAnswered) {
  EXPECT_EQ(serve().completions.size(), run_.requests.size());
  EXPECT_GT(sums_.groups[0].sequence.size(), 0u);
  EXPECT_GT(sums_.groups[1].sequence.size(), 0u);
}

TEST_P(CudaAbort, ASumThatNeverEndsIsAnErrorAtTheDeadline) {
  sixth_sum(Fate::never_ends);
  run_.threads.deadline_ns = 1'000'000'000;
  EXPECT_NE(error().find("its step did not end within 1000 ms"), std::string::npos);
}

TEST_P(CudaAbort, ARankThatBreaksEndsTheRun) {
  sixth_sum(Fate::breaks);
  EXPECT_EQ(error(), "rank 1 broke");
}

// The first sum holds its worker up; the other worker's fails.
TEST_P(CudaAbort, AnErrorElsewhereFreesWhoHangs) {
  sums_.fate = [this](std::size_t, std::uint64_t) { return sums_.hanging == 0 ? Fate::never_ends : Fate::breaks; };
  EXPECT_EQ(error(), "rank 1 broke");
  EXPECT_EQ(sums_.groups[0].sequence.size() + sums_.groups[1].sequence.size(), 2u);
}

TEST_P(CudaAbort, ASignalFreesWhoHangs) {
  sixth_sum(Fate::never_ends);
  StopFlag stop{0};
  std::thread signal([&] {
    while (sums_.hanging == 0) std::this_thread::yield();
    stop = 1;
  });
  Watch watch;
  watch.stop = &stop;
  EXPECT_TRUE(serve(watch).interrupted);
  signal.join();
}

INSTANTIATE_TEST_SUITE_P(Schedules, CudaAbort, testing::Values(0, 1));

}  // namespace
}  // namespace afore::host
