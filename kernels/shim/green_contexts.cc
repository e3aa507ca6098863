// The driver API's green contexts, and the way to its functions.
#include "kernels/shim/green_contexts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/shim/devices.h"
#include "kernels/shim/driver_api.h"
#include "kernels/shim/queues.h"
#include "kernels/shim/settings.h"
#include "kernels/shim/status.h"

struct CUdevResourceDesc_st {
  CUdevResource sms;
};
struct CUgreenCtx_st {
  CUdevResource sms;
};

namespace afore::shim {
namespace {

std::vector<std::unique_ptr<CUdevResourceDesc_st>> descriptions;  // the API has no way to give them back
std::vector<std::unique_ptr<CUgreenCtx_st>> contexts;

CUresult refused() {
  if (num_devices() == 0) return CUDA_ERROR_NO_DEVICE;
  return refusal() == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

bool exists(CUgreenCtx context) {
  return std::any_of(contexts.begin(), contexts.end(), [&](const auto& one) { return one.get() == context; });
}

// As few SMs as a group may have that is to have `least`.
unsigned group_sms(unsigned least) {
  const unsigned step = driver().sm_granularity;
  return std::max(step, (least + step - 1) / step * step);
}

CUdevResource sms_of(const CUdevResource& of, unsigned first, unsigned count) {
  CUdevResource group = of;
  group.first_sm += first;
  group.sm.smCount = count;
  return group;
}

struct Entry {
  const char* name;
  void* function;
  unsigned since;
};
template <class F>
Entry entry(const char* name, F* function, unsigned since) {
  return {name, reinterpret_cast<void*>(function), since};
}

}  // namespace

void drop_green_contexts() {
  contexts.clear();
  descriptions.clear();
}

int num_green_contexts() {
  const Lock lock = take_lock();
  return static_cast<int>(contexts.size());
}

}  // namespace afore::shim

using namespace afore::shim;

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  *resource = {type, device, 0, {driver().sms}};
  return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (input->type != CU_DEV_RESOURCE_TYPE_SM || flags != 0 || least > input->sm.smCount)
    return CUDA_ERROR_INVALID_VALUE;
  const unsigned each = group_sms(least), possible = input->sm.smCount / each;
  *groups = result == nullptr ? possible : std::min(*groups, possible);
  if (result != nullptr)
    for (unsigned i = 0; i < *groups; ++i) result[i] = sms_of(*input, i * each, each);
  if (remaining != nullptr) *remaining = sms_of(*input, *groups * each, input->sm.smCount - *groups * each);
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* desc, CUdevResource* resources, unsigned count) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (count != 1) return CUDA_ERROR_INVALID_VALUE;
  descriptions.push_back(std::make_unique<CUdevResourceDesc_st>(CUdevResourceDesc_st{*resources}));
  *desc = descriptions.back().get();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc desc, CUdevice device, unsigned flags) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM || desc->sms.device != device) return CUDA_ERROR_INVALID_VALUE;
  if (int& failing = driver().failing_context; failing > 0 && --failing == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  contexts.push_back(std::make_unique<CUgreenCtx_st>(CUgreenCtx_st{desc->sms}));
  *context = contexts.back().get();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (!exists(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (has_streams(context)) set_fault("a green context was destroyed before its streams");
  std::erase_if(contexts, [&](const auto& one) { return one.get() == context; });
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags, int) {
  const Lock lock = take_lock();
  if (const CUresult error = refused()) return error;
  if (!exists(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = add_stream(context->sms.device);
  (*stream)->first_sm = context->sms.first_sm;
  (*stream)->sms = context->sms.sm.smCount;
  (*stream)->context = context;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const Entry entries[] = {entry("cuDeviceGetDevResource", &cuDeviceGetDevResource, 12040),
                           entry("cuDevSmResourceSplitByCount", &cuDevSmResourceSplitByCount, 12040),
                           entry("cuDevResourceGenerateDesc", &cuDevResourceGenerateDesc, 12040),
                           entry("cuGreenCtxCreate", &cuGreenCtxCreate, 12040),
                           entry("cuGreenCtxDestroy", &cuGreenCtxDestroy, 12040),
                           entry("cuGreenCtxStreamCreate", &cuGreenCtxStreamCreate, 12050)};
  const Lock lock = take_lock();
  *function = nullptr;
  *found = cudaDriverEntryPointSymbolNotFound;
  if (!driver().green_contexts) return cudaSuccess;
  for (const Entry& one : entries) {
    if (std::strcmp(name, one.name) != 0) continue;
    const bool has = static_cast<unsigned>(driver().version) >= one.since && version >= one.since;
    *found = has ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
    if (has) *function = one.function;
  }
  return cudaSuccess;
}
