#include "kernels/vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bounds.h"
#include "kernels/bf16.h"
#include "memory.h"
#include "support.h"

namespace afore::kernels {
namespace {

const std::vector<std::int32_t> kSizes = {1, 3, 4, 5, 31, 128, 255, 1024, 1030, 2880};

// Elements behind `shift` others, so that they are aligned or not, in memory that notices what is outside it.
template <class T>
class Shifted {
 public:
  Shifted(std::size_t size, std::size_t shift, T fill) : shift_(shift), fill_(fill), all_(size + shift, fill) {}
  Shifted(const std::vector<T>& values, std::size_t shift) : Shifted(values.size(), shift, T{7}) {
    std::copy(values.begin(), values.end(), data());
  }
  ~Shifted() {
    EXPECT_TRUE(std::all_of(all_.begin(), data(), [this](T value) { return value == fill_; }));
  }
  T* data() { return all_.data() + shift_; }
  std::vector<T> values() const { return {all_.begin() + shift_, all_.end()}; }

 private:
  std::size_t shift_;
  T fill_;
  Memory<T> all_;
};

TEST(Vectors, EmbeddingIsTheTwins) {
  for (const std::int32_t n : kSizes) {
    SCOPED_TRACE(n);
    Memory<std::uint16_t> table(static_cast<std::size_t>(7 * n));
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint16_t>(0x3f00 + i);
    const std::vector<std::int32_t> ids = {3, 0, 6, 6};
    std::vector<float> expected(static_cast<std::size_t>(4 * n));
    twin::embed(table.data(), ids.data(), 4, n, expected.data());
    for (const std::size_t shift : {0u, 1u})
      for_schedules([&] {
        Shifted<float> out(expected.size(), shift, -1);
        embed(table.data(), ids.data(), 4, n, out.data(), nullptr);
        EXPECT_EQ(out.values(), expected);
      });
  }
}

TEST(Vectors, RowsAreTaken) {
  for (const std::int32_t n : kSizes) {
    SCOPED_TRACE(n);
    const Memory<float> x = random_floats(static_cast<std::size_t>(5 * n), 1, 1);
    const std::vector<std::int32_t> rows = {4, 4, 0, 2};
    std::vector<float> expected(static_cast<std::size_t>(4 * n));
    twin::take_rows(x.data(), rows.data(), 4, n, expected.data());
    for (const std::size_t shift : {0u, 1u})
      for_schedules([&] {
        Shifted<float> out(expected.size(), shift, -1);
        take_rows(x.data(), rows.data(), 4, n, out.data(), nullptr);
        EXPECT_EQ(out.values(), expected);
      });
  }
}

TEST(Vectors, SumsAreExact) {
  for (const std::int64_t count : {1, 3, 4, 1000, 1023, 1024, 1025, 4097}) {
    SCOPED_TRACE(count);
    const std::vector<float> start = random_floats(static_cast<std::size_t>(count), 2, 1);
    const Memory<float> delta = random_floats(static_cast<std::size_t>(count), 3, 1);
    std::vector<float> expected = start;
    twin::add(expected.data(), delta.data(), count);
    for (const std::size_t shift : {0u, 1u})
      for_schedules([&] {
        Shifted<float> residual(start, shift);
        add(residual.data(), delta.data(), count, nullptr);
        EXPECT_EQ(residual.values(), expected);
      });
  }
}

TEST(Vectors, ASumLongerThanTheGridIsWhole) {
  const std::size_t count = 1024 * 1024 + 5000;
  std::vector<float> residual(count, 1);
  const std::vector<float> delta = random_floats(count, 4, 1);
  std::vector<float> expected = residual;
  twin::add(expected.data(), delta.data(), static_cast<std::int64_t>(count));
  add(residual.data(), delta.data(), static_cast<std::int64_t>(count), nullptr);
  EXPECT_TRUE(residual == expected);
}

void expect_near(const std::vector<std::uint16_t>& y, const std::vector<std::uint16_t>& expected) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_LE(std::abs(y[i] - expected[i]), kNormSteps)
        << i << ": " << float_of(y[i]) << " for " << float_of(expected[i]);
    different += y[i] != expected[i];
  }
  EXPECT_LE(different, most_beside(y.size()));
}

TEST(Vectors, NormsAreTheTwins) {
  for (const std::int32_t n : kSizes)
    for (const std::int32_t rows : {1, 3}) {
      SCOPED_TRACE(n);
      const std::size_t size = static_cast<std::size_t>(n * rows);
      const std::vector<float> start = random_floats(size, 5, 3);
      const Memory<float> x = start, delta = random_floats(size, 6, 1);
      const Memory<float> weight = random_floats(static_cast<std::size_t>(n), 7, 2);
      std::vector<std::uint16_t> plain(size), added(size);
      std::vector<float> sum = start;
      twin::rms_norm(start.data(), weight.data(), 1e-5f, rows, n, plain.data());
      twin::add_rms_norm(sum.data(), delta.data(), weight.data(), 1e-5f, rows, n, added.data());
      for_schedules([&] {
        Shifted<std::uint16_t> y(size, 0, 1);
        rms_norm(x.data(), weight.data(), 1e-5f, rows, n, y.data(), nullptr);
        expect_near(y.values(), plain);
        Shifted<float> residual(start, 0);
        add_rms_norm(residual.data(), delta.data(), weight.data(), 1e-5f, rows, n, y.data(), nullptr);
        expect_near(y.values(), added);
        EXPECT_EQ(residual.values(), sum);
      });
    }
}

// Four rows begin aligned, whatever they hold, and the second does not.
TEST(Vectors, RowsThatAreNoFoursBehindAnAlignedStart) {
  for (const std::int32_t n : {1, 5, 6, 1030}) {
    SCOPED_TRACE(n);
    const std::size_t size = static_cast<std::size_t>(4 * n);
    const Memory<float> start = random_floats(size, 11, 3), delta = random_floats(size, 12, 1);
    const std::vector<float> weight = random_floats(static_cast<std::size_t>(n + 3), 13, 2);
    const std::vector<std::int32_t> rows = {3, 0, 2, 1};
    std::vector<std::uint16_t> plain(size), added(size), table(size);
    std::vector<float> sum = start.values(), taken(size), embedded(size);
    std::transform(start.begin(), start.end(), table.begin(), bf16_of);
    twin::rms_norm(start.data(), weight.data(), 1e-5f, 4, n, plain.data());
    twin::add_rms_norm(sum.data(), delta.data(), weight.data(), 1e-5f, 4, n, added.data());
    twin::take_rows(start.data(), rows.data(), 4, n, taken.data());
    twin::embed(table.data(), rows.data(), 4, n, embedded.data());
    for_schedules([&] {
      Memory<std::uint16_t> y(size);
      Memory<float> residual(start.values()), out(size);
      rms_norm(start.data(), weight.data(), 1e-5f, 4, n, y.data(), nullptr);
      expect_near(y.values(), plain);
      add_rms_norm(residual.data(), delta.data(), weight.data(), 1e-5f, 4, n, y.data(), nullptr);
      expect_near(y.values(), added);
      EXPECT_EQ(residual.values(), sum);
      take_rows(start.data(), rows.data(), 4, n, out.data(), nullptr);
      EXPECT_EQ(out.values(), taken);
      embed(table.data(), rows.data(), 4, n, out.data(), nullptr);
      EXPECT_EQ(out.values(), embedded);
    });
  }
}

TEST(Vectors, ASumThatIsNoFoursBehindAnAlignedStart) {
  std::vector<float> residual(1028, 1);
  const std::vector<float> delta(1028, 2);
  add(residual.data(), delta.data(), 1025, nullptr);
  for (std::size_t i = 0; i < residual.size(); ++i) EXPECT_EQ(residual[i], i < 1025 ? 3 : 1) << i;
}

TEST(Vectors, EpsCountsWhereARowIsSmall) {
  const std::vector<float> x(64, 1e-4f), weight(64, 1);
  std::vector<std::uint16_t> y(64), expected(64);
  rms_norm(x.data(), weight.data(), 1e-4f, 1, 64, y.data(), nullptr);
  twin::rms_norm(x.data(), weight.data(), 1e-4f, 1, 64, expected.data());
  expect_near(y, expected);
  EXPECT_NEAR(float_of(y[0]), 1e-2f, 1e-4f);
}

// A row's bits depend on the row alone: not on those beside it, its place, or whether its elements are moved in fours.
TEST(Vectors, NormsDoNotDependOnTheBatch) {
  const std::int32_t n = 1028;
  const std::vector<float> row = random_floats(n, 8, 3), weight = random_floats(n, 9, 2);
  std::vector<std::uint16_t> alone(n);
  rms_norm(row.data(), weight.data(), 1e-6f, 1, n, alone.data(), nullptr);
  for (const std::size_t shift : {0u, 1u, 2u})
    for (std::int32_t place = 0; place < 5; ++place) {
      Shifted<float> x(5 * n, shift, 0);
      const std::vector<float> others = random_floats(5 * n, 10, 100);
      std::copy(others.begin(), others.end(), x.data());
      std::copy(row.begin(), row.end(), x.data() + place * n);
      std::vector<std::uint16_t> y(5 * n);
      rms_norm(x.data(), weight.data(), 1e-6f, 5, n, y.data(), nullptr);
      EXPECT_EQ(std::vector(y.begin() + place * n, y.begin() + (place + 1) * n), alone);
    }
}

TEST(Vectors, NoRowsAreNoLaunch) {
  embed(nullptr, nullptr, 0, 8, nullptr, nullptr);
  rms_norm(nullptr, nullptr, 0, 0, 8, nullptr, nullptr);
  add_rms_norm(nullptr, nullptr, nullptr, 0, 0, 8, nullptr, nullptr);
  add(nullptr, nullptr, 0, nullptr);
  take_rows(nullptr, nullptr, 0, 8, nullptr, nullptr);
}

}  // namespace
}  // namespace afore::kernels
