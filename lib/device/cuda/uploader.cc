#include "device/cuda/uploader.h"

#include <algorithm>
#include <cstring>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {

Uploader::Uploader(Lane& lane)
    : lane_(lane),
      pieces_{{{lane.gpu(), true, "memory that weights pass through"}, kPieceBytes},
              {{lane.gpu(), true, "memory that weights pass through"}, kPieceBytes}} {}

template <class T, class Fill>
void Uploader::send(std::int64_t count, T* to, const Fill& fill) {
  constexpr std::int64_t kPiece = kPieceBytes / sizeof(T);
  use(lane_.gpu());
  int turn = 0;
  for (std::int64_t first = 0; first < count; first += kPiece, turn ^= 1) {
    const std::int64_t piece = std::min(kPiece, count - first);
    lane_.wait(sent_[turn]);
    T* pinned = reinterpret_cast<T*>(pieces_[turn].data());
    fill(first, std::span(pinned, static_cast<std::size_t>(piece)));
    check(cudaMemcpyAsync(to + first, pinned, static_cast<std::size_t>(piece) * sizeof(T), cudaMemcpyHostToDevice,
                          lane_.stream()),
          "copying weights to a GPU");
    sent_[turn] = lane_.record();
  }
  for (const Ticket sent : sent_) lane_.wait(sent);
}

void Uploader::bf16(const nn::Tensor& tensor, std::uint16_t* to) {
  send(tensor.count(), to, [&](std::int64_t first, std::span<std::uint16_t> out) { read_bf16(tensor, first, out); });
}

void Uploader::f32(const nn::Tensor& tensor, float* to) {
  send(tensor.count(), to, [&](std::int64_t first, std::span<float> out) { read_f32(tensor, first, out); });
}

void Uploader::f32(std::span<const float> values, float* to) {
  send(std::ssize(values), to, [&](std::int64_t first, std::span<float> out) {
    std::memcpy(out.data(), values.data() + first, out.size_bytes());
  });
}

void Uploader::mlp(const nn::MlpTensors& tensors, std::uint16_t* to) {
  bf16(tensors.gate, to);
  bf16(tensors.up, to + tensors.gate.count());
  bf16(tensors.down, to + tensors.gate.count() + tensors.up.count());
}

}  // namespace afore::device::cuda
