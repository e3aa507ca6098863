#pragma once
// Bytes from a descriptor, decompressed when they start with a zstd magic. The reading half of line_io.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct ZSTD_DCtx_s;

namespace afore {

class ByteSource {
 public:
  explicit ByteSource(const std::string& path);  // "-" = standard input; Error{io} when it cannot be opened
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // At least one byte, or 0 at the end. `line` (0 = none) is only for messages. Damaged or cut-off compressed data
  // is Error{data}, a failed read Error{io}, the stop flag Error{interrupted}.
  std::size_t read(char* out, std::size_t capacity, std::int64_t line);

  const std::string& name() const { return name_; }
  void on_wait(std::function<void()> hook) { hook_ = std::move(hook); }
  void stop_when(const volatile int* flag) { stop_ = flag; }
  void check_stop() const;

 private:
  enum class Form { unknown, plain, zstd };

  std::size_t read_descriptor(char* out, std::size_t capacity);
  void wait_readable() const;
  void detect_form();
  std::size_t take_plain(char* out, std::size_t capacity);
  std::size_t take_zstd(char* out, std::size_t capacity, std::int64_t line);
  bool refill();
  std::string place(std::int64_t line) const;

  std::string name_;
  int descriptor_ = -1;
  bool owned_ = false, at_end_ = false;
  Form form_ = Form::unknown;
  std::vector<char> raw_;  // what was read and not yet handed out
  std::size_t raw_begin_ = 0, raw_end_ = 0;
  ZSTD_DCtx_s* decoder_ = nullptr;
  bool frame_open_ = false;      // bytes of a frame were consumed and its end was not seen
  bool output_pending_ = false;  // the decoder filled the caller's buffer and may hold more
  std::function<void()> hook_;
  const volatile int* stop_ = nullptr;
};

}  // namespace afore
