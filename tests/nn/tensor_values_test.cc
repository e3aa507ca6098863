// Values of tensors: rounding to bf16 by hand, all f16, and values that are not finite.
#include <bit>
#include <cmath>

#include "nn/checkpoint.h"
#include "nn_test_util.h"
#include "safetensors_writer.h"

namespace afore::nn {
namespace {

// A tensor over bytes of its own, at an odd address: files promise no alignment.
struct Held {
  template <class T>
  Held(Dtype dtype, const std::vector<T>& values) : bytes(1, 'x') {
    bytes += bytes_of_values(values);
    tensor = {"t",
              "f.safetensors",
              dtype,
              {static_cast<std::int64_t>(values.size())},
              std::as_bytes(std::span(bytes)).subspan(1)};
  }
  std::string bytes;
  Tensor tensor;
};

std::vector<std::uint16_t> bf16_of(const Held& held) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(held.tensor.count()));
  read_bf16(held.tensor, 0, out);
  return out;
}

std::vector<float> f32_of(const Held& held) {
  std::vector<float> out(static_cast<std::size_t>(held.tensor.count()));
  read_f32(held.tensor, 0, out);
  return out;
}

Held f32_bits(const std::vector<std::uint32_t>& bits) { return {Dtype::f32, bits}; }

TEST(TensorValues, RoundsToNearestEven) {
  const Held held = f32_bits({0x3F80'0000, 0x3F80'8000, 0x3F81'8000, 0x3F80'7FFF, 0x3F80'8001, 0xBF81'8000,  //
                              0x0000'0000, 0x8000'0000, 0x0000'8000, 0x0000'8001, 0x3FFF'8000, 0x7F7F'7FFF});
  EXPECT_EQ(bf16_of(held), (std::vector<std::uint16_t>{0x3F80, 0x3F80, 0x3F82, 0x3F80, 0x3F81, 0xBF82,  //
                                                       0x0000, 0x8000, 0x0000, 0x0001, 0x4000, 0x7F7F}));
}

TEST(TensorValues, Bf16IsTakenAsItIs) {
  std::vector<std::uint16_t> finite;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7F80) != 0x7F80) finite.push_back(static_cast<std::uint16_t>(bits));
  const Held held(Dtype::bf16, finite);
  EXPECT_EQ(bf16_of(held), finite);
  const std::vector<float> wide = f32_of(held);
  for (std::size_t i = 0; i < finite.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(finite[i]) << 16);
}

// IEEE 754 binary16 by its definition.
float f16_value(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const float mantissa = static_cast<float>(bits & 0x3FF);
  const float size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

TEST(TensorValues, EveryF16) {
  std::vector<std::uint16_t> finite;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7C00) != 0x7C00) finite.push_back(static_cast<std::uint16_t>(bits));
  const std::vector<float> wide = f32_of(Held(Dtype::f16, finite));
  for (std::size_t i = 0; i < finite.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(f16_value(finite[i]))) << finite[i];
  // 1 + 2^-10 lies below half a place of bf16 (2^-8), 1 + 3 * 2^-8 on one, and goes to the even neighbour.
  EXPECT_EQ(bf16_of(Held(Dtype::f16, std::vector<std::uint16_t>{0x3C01, 0x3C04, 0x3C0C, 0x7BFF, 0x0001})),
            (std::vector<std::uint16_t>{0x3F80, 0x3F80, 0x3F82, 0x4780, 0x3380}));
}

TEST(TensorValues, ReadsParts) {
  std::vector<float> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Held held(Dtype::f32, values);
  std::vector<float> part(5000);
  read_f32(held.tensor, 4321, part);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], static_cast<float>(4321 + i));
  read_f32(held.tensor, 10'000, std::span<float>());
  EXPECT_THROW(read_f32(held.tensor, 5001, part), Error);
  EXPECT_THROW(read_f32(held.tensor, -1, part), Error);
}

template <class Out>
std::string read_error(const Tensor& tensor, std::int64_t first) {
  std::vector<Out> out(static_cast<std::size_t>(tensor.count() - first));
  return error_of([&] {
    if constexpr (std::is_same_v<Out, float>) read_f32(tensor, first, out);
    else read_bf16(tensor, first, out);
  });
}

TEST(TensorValues, NotFinite) {
  const std::string at = "f.safetensors: tensor \"t\": element ";
  for (const std::uint32_t bits :
       {0x7F80'0000u, 0xFF80'0000u, 0x7FC0'0000u, 0x7F80'0001u, 0xFFFF'FFFFu, 0x7FFF'FFFFu}) {
    std::vector<std::uint32_t> values(6000, 0x3F80'0000);
    values[5000] = bits;
    const Held held = f32_bits(values);
    EXPECT_EQ(read_error<float>(held.tensor, 0), at + "5000 is not finite");
    EXPECT_EQ(read_error<std::uint16_t>(held.tensor, 4999), at + "5000 is not finite");
    EXPECT_EQ(read_error<float>(held.tensor, 5001), "no error");
  }
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    const std::uint16_t infinite = dtype == Dtype::bf16 ? 0x7F80 : 0x7C00;
    for (const int bits : {infinite + 0, infinite | 1, infinite | 0x8000, 0xFFFF}) {
      const Held held(dtype, std::vector<std::uint16_t>{0, 1, static_cast<std::uint16_t>(bits)});
      EXPECT_EQ(read_error<float>(held.tensor, 1), at + "2 is not finite");
      EXPECT_EQ(read_error<std::uint16_t>(held.tensor, 0), at + "2 is not finite");
    }
  }
}

TEST(TensorValues, BeyondBf16) {
  for (const std::uint32_t bits : {0x7F7F'8000u, 0xFF7F'FFFFu}) {
    const Held held = f32_bits({0, bits});
    EXPECT_EQ(read_error<std::uint16_t>(held.tensor, 0),
              "f.safetensors: tensor \"t\": element 1 is beyond the range of bf16");
    EXPECT_EQ(read_error<float>(held.tensor, 0), "no error");
  }
}

}  // namespace
}  // namespace afore::nn
