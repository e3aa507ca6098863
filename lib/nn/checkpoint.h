#pragma once
// Weights of a Hugging Face folder: model.safetensors, or the shards named by model.safetensors.index.json, mapped
// into memory. Opening checks what the format promises: header size and JSON, offsets inside the file, in order, not
// overlapping and without holes, sizes that fit shape and dtype, names once. Values are checked when they are read.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace afore::nn {

enum class Dtype { bf16, f16, f32 };

// A view into the checkpoint that it came from; valid as long as that is open.
struct Tensor {
  std::string name;
  std::string file;
  Dtype dtype = Dtype::bf16;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // C order, little-endian

  std::int64_t count() const;
};

class Checkpoint {
 public:
  // Error{io} when a file cannot be read, Error{data} naming file, tensor and fact when it is damaged.
  explicit Checkpoint(const std::filesystem::path& folder);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const Tensor* find(const std::string& name) const;  // nullptr when there is none
  // With that shape, else Error{data}: missing, or another shape.
  const Tensor& at(const std::string& name, std::span<const std::int64_t> shape) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Elements first … first + out.size() - 1. f32 and f16 are rounded to the nearest bf16, ties to even. Error{data} with
// the tensor's name and the element's place for a value that is not finite (in bf16: after rounding).
void read_bf16(const Tensor& tensor, std::int64_t first, std::span<std::uint16_t> out);
void read_f32(const Tensor& tensor, std::int64_t first, std::span<float> out);

}  // namespace afore::nn
