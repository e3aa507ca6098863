#include "migrate/copy_fit.h"

#include <algorithm>
#include <cmath>

#include "util/error.h"

namespace afore::migrate {

CopyFit fit_copy_time(std::span<const CopyPoint> points) {
  AFORE_CHECK(points.size() >= 2, "a line needs two sizes");
  // Minimise sum((a + b*s)/t - 1)^2 over a, b: normal equations in u = 1/t and v = s/t.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const CopyPoint& point : points) {
    const double ns = std::max(point.p50_us * 1e3 / static_cast<double>(point.copies), 1.0);
    const double u = 1 / ns, v = static_cast<double>(point.size_bytes) / ns;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  double latency = determinant == 0 ? 0 : (u1 * vv - v1 * uv) / determinant;
  double ns_per_byte = determinant == 0 ? v1 / vv : (v1 * uu - u1 * uv) / determinant;
  if (latency < 0) {
    latency = 0;
    ns_per_byte = v1 / vv;
  }
  if (!(ns_per_byte > 0)) {
    throw Error(ErrorKind::answer_no, "the copy times do not grow with the size, so no rate can be fitted",
                "use larger sizes (-e), more iterations (-n), or a quieter machine");
  }
  CopyFit fit;
  fit.latency_ns = std::llround(latency);
  fit.bytes_per_s = 1e9 / ns_per_byte;
  for (const CopyPoint& point : points) {
    const double ns = std::max(point.p50_us * 1e3 / static_cast<double>(point.copies), 1.0);
    const double predicted = latency + ns_per_byte * static_cast<double>(point.size_bytes);
    fit.worst_relative_error = std::max(fit.worst_relative_error, std::abs(predicted - ns) / ns);
  }
  return fit;
}

}  // namespace afore::migrate
