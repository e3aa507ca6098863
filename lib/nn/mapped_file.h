#pragma once
// A whole file, mapped read-only. It must not shrink while it is mapped.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace afore::nn {

class MappedFile {
 public:
  // Error{io} when it cannot be opened or is no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  std::string name_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace afore::nn
