#pragma once
// A file that is there while a process serves.
#include <string>
#include <string_view>

namespace afore::cli {

// Removed with it, and when a second signal ends the process. One at a time; without a path it does nothing.
class ReadyFile {
 public:
  ReadyFile(std::string path, std::string_view bytes);  // Error{io}
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

 private:
  std::string path_;
};

// For ends that run no destructors. May be called by signal handlers.
void remove_ready_file() noexcept;

}  // namespace afore::cli
