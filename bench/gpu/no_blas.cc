// Built where there is no cuBLAS.
#include "bench/gpu/blas.h"
#include "util/error.h"

namespace afore::bench::gpu {

std::string why_no_blas() { return "built without cuBLAS"; }
void blas_product(const std::uint16_t*, const std::uint16_t*, int, int, int, float*) {
  throw Error(ErrorKind::internal, why_no_blas());
}
void blas_product(const std::uint16_t*, const std::uint16_t*, int, int, int, std::uint16_t*) {
  throw Error(ErrorKind::internal, why_no_blas());
}

}  // namespace afore::bench::gpu
