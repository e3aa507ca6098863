#pragma once
// A log as the commands about logs open it: always taken for one, whatever its first bytes are.
#include <string>

#include "util/log/log_reader.h"
#include "util/stop_flag.h"

namespace afore::cli {

class LogInput {
 public:
  // "-" is standard input. Error{io} when it cannot be opened.
  LogInput(const std::string& path, Recover recover, const StopFlag* stop = nullptr);
  ~LogInput();
  LogInput(const LogInput&) = delete;
  LogInput& operator=(const LogInput&) = delete;

  const std::string& name() const { return name_; }
  bool held() const;  // a writer has it open
  LogReader& reader() { return reader_; }

 private:
  std::size_t read(char* out, std::size_t capacity);

  std::string name_;
  int descriptor_;
  const StopFlag* stop_;
  LogReader reader_;
};

}  // namespace afore::cli
