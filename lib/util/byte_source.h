#pragma once
// Bytes from a descriptor, decompressed when they start with a zstd magic, verified when they are a log. The reading
// half of line_io.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/log/log_report.h"
#include "util/stop_flag.h"

struct ZSTD_DCtx_s;

namespace afore {

class LogReader;

class ByteSource {
 public:
  // "-" = standard input; Error{io} when it cannot be opened. With `log`, a log's lines are read out of it; it is known
  // by its first bytes, or by a name in .afl where the first bytes are no text.
  explicit ByteSource(const std::string& path, std::optional<Recover> log = std::nullopt);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // At least one byte, or 0 at the end. `line` (0 = none) is only for messages. Damaged or cut-off compressed data
  // is Error{data}, a failed read Error{io}, the stop flag Error{interrupted}.
  std::size_t read(char* out, std::size_t capacity, std::int64_t line);

  const std::string& name() const { return name_; }
  void on_wait(std::function<void()> hook) { hook_ = std::move(hook); }
  void stop_when(const StopFlag* flag) { stop_ = flag; }
  void check_stop() const;
  bool ready() const;                   // a read would not wait
  const LogReport* log_report() const;  // null where the input is no log; complete at its end

 private:
  enum class Form { unknown, plain, zstd, log };

  std::size_t read_descriptor(char* out, std::size_t capacity);
  void wait_readable() const;
  void detect_form();
  std::size_t take_plain(char* out, std::size_t capacity);
  std::size_t take_log(char* out, std::size_t capacity);
  bool is_log(std::size_t first_bytes) const;
  std::size_t take_zstd(char* out, std::size_t capacity, std::int64_t line);
  bool refill();
  std::string place(std::int64_t line) const;

  std::string name_;
  int descriptor_ = -1;
  bool owned_ = false, at_end_ = false;
  Form form_ = Form::unknown;
  std::vector<char> raw_;  // what was read and not yet handed out
  std::size_t raw_begin_ = 0, raw_end_ = 0;
  std::optional<Recover> recover_;
  std::unique_ptr<LogReader> log_;
  std::string_view log_lines_;  // verified and not yet handed out
  ZSTD_DCtx_s* decoder_ = nullptr;
  bool frame_open_ = false;      // bytes of a frame were consumed and its end was not seen
  bool output_pending_ = false;  // the decoder filled the caller's buffer and may hold more
  std::function<void()> hook_;
  const StopFlag* stop_ = nullptr;
};

}  // namespace afore
