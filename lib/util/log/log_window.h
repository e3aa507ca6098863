#pragma once
// A few bytes ahead of a source, at a known offset.
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

namespace afore {

// Fills `out` with at least one byte and at most `capacity`, or returns 0 at the end. Its Errors pass through.
using ByteRead = std::function<std::size_t(char* out, std::size_t capacity)>;

class LogWindow {
 public:
  LogWindow(ByteRead read, std::size_t capacity)
      : read_(std::move(read)), capacity_(capacity), buffer_(new char[capacity]) {}

  // Reads until `size` (at most the capacity) bytes are ahead; false when the input ends before. Reads no further than
  // it must, so that what a slow writer has finished is not held back.
  bool ensure(std::size_t size) {
    if (end_ - begin_ >= size) return true;
    if (begin_ + size > capacity_) {
      std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    while (end_ - begin_ < size) {
      const std::size_t got = at_end_ ? 0 : read_(buffer_.get() + end_, capacity_ - end_);
      if (got == 0) {
        at_end_ = true;
        return false;
      }
      end_ += got;
    }
    return true;
  }
  std::string_view ahead() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void advance(std::size_t size) {
    begin_ += size;
    offset_ += static_cast<std::int64_t>(size);
  }
  std::int64_t offset() const { return offset_; }

 private:
  ByteRead read_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t offset_ = 0;  // of begin_ in the input
  bool at_end_ = false;
};

}  // namespace afore
