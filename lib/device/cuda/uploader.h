#pragma once
// Weights into a GPU's memory, converted as they go. Returns when they are there.
#include <span>

#include "device/cuda/buffer.h"
#include "nn/weights.h"

namespace afore::device::cuda {

class Uploader {
 public:
  explicit Uploader(Lane& lane);

  // Error{data} naming the tensor when a value is not finite.
  void bf16(const nn::Tensor& tensor, std::uint16_t* to);
  void f32(const nn::Tensor& tensor, float* to);
  void f32(std::span<const float> values, float* to);
  // gate | up | down, as kernels::ExpertArena has a slot.
  void mlp(const nn::MlpTensors& tensors, std::uint16_t* to);

 private:
  static constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
  // fill(first, count, where): elements of the next piece.
  template <class T, class Fill>
  void send(std::int64_t count, T* to, const Fill& fill);

  Lane& lane_;
  Buffer<std::byte> pieces_[2];  // one is filled while the other travels
  Ticket sent_[2] = {};
};

}  // namespace afore::device::cuda
