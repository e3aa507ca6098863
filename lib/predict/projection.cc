#include "predict/projection.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "nn/bf16.h"
#include "nn/model.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::predict {
namespace {

constexpr std::int64_t kProjectedRows = 8192;  // that the directions are found from
constexpr int kIterations = 16;

// Row-major, [rows][columns].
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<float> values;

  Matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r) * c) {}
  float* row(int r) { return values.data() + static_cast<std::size_t>(r) * columns; }
};

void read_row(const nn::Tensor& embed, std::int64_t id, const std::vector<float>& mean, float* out) {
  nn::read_f32(embed, id * std::ssize(mean), {out, mean.size()});
  for (std::size_t i = 0; i < mean.size(); ++i) out[i] -= mean[i];
}

// Gram-Schmidt, twice over, on the first `dims` columns.
void orthonormalise(Matrix& q, int dims) {
  const auto dot = [&](int a, int b) {
    double sum = 0;
    for (int r = 0; r < q.rows; ++r) sum += static_cast<double>(q.row(r)[a]) * q.row(r)[b];
    return sum;
  };
  for (int d = 0; d < dims; ++d) {
    for (int round = 0; round < 2; ++round)
      for (int before = 0; before < d; ++before) {
        const float along = static_cast<float>(dot(d, before));
        for (int r = 0; r < q.rows; ++r) q.row(r)[d] -= along * q.row(r)[before];
      }
    const double length = std::sqrt(dot(d, d));
    const float scale = length > 0 ? static_cast<float>(1 / length) : 0;
    for (int r = 0; r < q.rows; ++r) q.row(r)[d] *= scale;
  }
}

std::vector<float> mean_of(const nn::Tensor& embed, int vocab, int hidden) {
  std::vector<double> sum(static_cast<std::size_t>(hidden));
  std::vector<float> row(sum.size());
  for (std::int64_t id = 0; id < vocab; ++id) {
    nn::read_f32(embed, id * hidden, row);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) row[i] = static_cast<float>(sum[i] / vocab);
  return row;
}

// Columns of the result span what the rows vary in most, each by itself a principal direction.
Matrix principal_directions(const nn::Tensor& embed, const std::vector<float>& mean, int vocab, int dims,
                            std::uint64_t seed) {
  const int hidden = static_cast<int>(mean.size()), columns = padded(dims);
  const int rows = static_cast<int>(std::min<std::int64_t>(vocab, kProjectedRows));
  Matrix x(rows, hidden), q(hidden, columns);
  for (int r = 0; r < rows; ++r) read_row(embed, static_cast<std::int64_t>(r) * vocab / rows, mean, x.row(r));
  Rng rng(seed, "predict/projection");
  for (int r = 0; r < hidden; ++r)
    for (int d = 0; d < dims; ++d) q.row(r)[d] = static_cast<float>(rng.normal());
  for (int i = 0; i < kIterations; ++i) {
    orthonormalise(q, dims);
    Matrix along(rows, columns), next(hidden, columns);
    multiply_add(x.values.data(), static_cast<std::size_t>(hidden), 1, q.values.data(), along.values.data(), rows,
                 hidden, columns);
    multiply_add(x.values.data(), 1, static_cast<std::size_t>(hidden), along.values.data(), next.values.data(), hidden,
                 rows, columns);
    q = std::move(next);
  }
  orthonormalise(q, dims);
  return q;
}

}  // namespace

TokenTable project_embedding(const std::filesystem::path& folder, int dims, std::uint64_t seed) {
  const nn::Model model = nn::open_model(folder);
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  dims = std::min(dims, hidden);
  const std::vector<float> mean = mean_of(model.tensors.embed, vocab, hidden);
  Matrix q = principal_directions(model.tensors.embed, mean, vocab, dims, seed);
  Matrix row(1, hidden), projected(vocab, q.columns);
  double squares = 0;
  for (int id = 0; id < vocab; ++id) {
    read_row(model.tensors.embed, id, mean, row.row(0));
    multiply_add(row.values.data(), static_cast<std::size_t>(hidden), 1, q.values.data(), projected.row(id), 1, hidden,
                 q.columns);
    for (int d = 0; d < dims; ++d) squares += static_cast<double>(projected.row(id)[d]) * projected.row(id)[d];
  }
  if (!(squares > 0)) throw Error(ErrorKind::data, folder.string() + ": all tokens have the same embedding");
  const float scale = static_cast<float>(1 / std::sqrt(squares / vocab / dims));
  TokenTable table{vocab, dims, {}};
  table.values.reserve(static_cast<std::size_t>(vocab) * dims);
  for (int id = 0; id < vocab; ++id)
    for (int d = 0; d < dims; ++d)
      table.values.push_back(nn::round_to_bf16(std::bit_cast<std::uint32_t>(scale * projected.row(id)[d])));
  return table;
}

}  // namespace afore::predict
