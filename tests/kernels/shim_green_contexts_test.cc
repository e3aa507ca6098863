// The stand-in's green contexts: that what is wrong on a device is refused here.
#include <gtest/gtest.h>

#include "kernels/gpu_driver.h"

namespace afore::shim {
namespace {

class ShimGreenContexts : public testing::Test {
 protected:
  void SetUp() override {
    set_devices(1);
    set_driver({.sms = 20, .sm_granularity = 8});
    ASSERT_EQ(cuDeviceGetDevResource(0, &all_, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  }
  void TearDown() override {
    set_devices(1);
    set_driver({});
  }
  CUgreenCtx make(CUdevResource& group) {
    CUdevResourceDesc desc = nullptr;
    CUgreenCtx context = nullptr;
    EXPECT_EQ(cuDevResourceGenerateDesc(&desc, &group, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuGreenCtxCreate(&context, desc, 0, 0), CUDA_ERROR_INVALID_VALUE) << "the default stream is required";
    EXPECT_EQ(cuGreenCtxCreate(&context, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    return context;
  }
  CUdevResource all_{};
};

TEST_F(ShimGreenContexts, GroupsAreMultiplesAndTheRestIsLeft) {
  unsigned groups = 0;
  ASSERT_EQ(cuDevSmResourceSplitByCount(nullptr, &groups, &all_, nullptr, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(groups, 2u);
  ASSERT_EQ(cuDevSmResourceSplitByCount(nullptr, &groups, &all_, nullptr, 0, 9), CUDA_SUCCESS);
  EXPECT_EQ(groups, 1u);
  CUdevResource two[2], rest{};
  groups = 2;
  ASSERT_EQ(cuDevSmResourceSplitByCount(two, &groups, &all_, &rest, 0, 8), CUDA_SUCCESS);
  EXPECT_EQ(two[0].sm.smCount, 8u);
  EXPECT_EQ(two[1].sm.smCount, 8u);
  EXPECT_EQ(rest.sm.smCount, 4u);
  EXPECT_EQ(cuDevSmResourceSplitByCount(nullptr, &groups, &all_, nullptr, 0, 21), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ShimGreenContexts, StreamsGoFirst) {
  CUgreenCtx context = make(all_);
  CUstream stream = nullptr;
  EXPECT_EQ(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_DEFAULT, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cuGreenCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(last_fault(), "");
  EXPECT_EQ(cuGreenCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);

  context = make(all_);
  ASSERT_EQ(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  cuGreenCtxDestroy(context);
  EXPECT_EQ(last_fault(), "a green context was destroyed before its streams");
}

TEST_F(ShimGreenContexts, FunctionsAreThereFromTheirVersionOn) {
  const auto found = [](const char* name, unsigned version) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &result), cudaSuccess);
    EXPECT_EQ(function != nullptr, result == cudaDriverEntryPointSuccess);
    return result;
  };
  EXPECT_EQ(found("cuGreenCtxStreamCreate", 12050), cudaDriverEntryPointSuccess);
  EXPECT_EQ(found("cuGreenCtxStreamCreate", 12040), cudaDriverEntryPointVersionNotSufficent);
  EXPECT_EQ(found("cuGreenCtxStreamDestroy", 13000), cudaDriverEntryPointSymbolNotFound);
  set_driver({.version = 12040});
  EXPECT_EQ(found("cuGreenCtxStreamCreate", 12050), cudaDriverEntryPointVersionNotSufficent);
  EXPECT_EQ(found("cuGreenCtxCreate", 12040), cudaDriverEntryPointSuccess);
  set_driver({.green_contexts = false});
  EXPECT_EQ(found("cuGreenCtxCreate", 12040), cudaDriverEntryPointSymbolNotFound);
}

}  // namespace
}  // namespace afore::shim
