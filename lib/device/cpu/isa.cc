#include <string>

#include "device/cpu/instruction_sets.h"
#include "device/cpu/kernels.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

constexpr Isa kBestFirst[] = {Isa::avx512bf16, Isa::avx2, Isa::scalar};

std::string supported_names() {
  std::string names;
  for (const Isa isa : kBestFirst)
    if (is_supported(isa)) names += (names.empty() ? "" : ", ") + std::string(to_string(isa));
  return names;
}

}  // namespace

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::scalar: return "scalar";
    case Isa::avx2: return "avx2";
    case Isa::avx512bf16: return "avx512bf16";
  }
  return "?";
}

bool is_supported(Isa isa) {
#ifdef __x86_64__
  // These look at what the system saves of a thread, too, not only at what the processor has.
  __builtin_cpu_init();
  switch (isa) {
    case Isa::scalar: return true;
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512bf16:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bf16");
  }
  return false;
#else
  return isa == Isa::scalar;
#endif
}

Isa best_isa() {
  for (const Isa isa : kBestFirst)
    if (is_supported(isa)) return isa;
  return Isa::scalar;
}

Isa parse_isa(std::string_view name) {
  for (const Isa isa : kBestFirst) {
    if (name != to_string(isa)) continue;
    if (!is_supported(isa))
      throw Error(ErrorKind::usage, "this processor cannot run " + std::string(name),
                  "it can run " + supported_names());
    return isa;
  }
  throw Error(ErrorKind::usage, "unknown instruction set \"" + std::string(name) + "\"", "one of " + supported_names());
}

const Kernels& Kernels::of(Isa isa) {
  AFORE_CHECK(is_supported(isa), "an instruction set that this processor lacks");
#ifdef __x86_64__
  if (isa == Isa::avx512bf16) return avx512bf16_kernels();
  if (isa == Isa::avx2) return avx2_kernels();
#endif
  return scalar_kernels();
}

}  // namespace afore::device::cpu
