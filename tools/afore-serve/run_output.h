#pragma once
// What a run shows: text for people on a terminal, records on a pipe, and with --record the whole stream in a file.
#include <memory>
#include <string>
#include <string_view>

#include "common/record_sink.h"
#include "core/records.h"
#include "report/run_data.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::serve {

class RunOutput {
 public:
  // `requests`: how many will be answered. `record`: empty for none.
  // `report`: a page of pictures, empty for none.
  RunOutput(bool json, std::size_t requests, const std::string& record, const std::string& report);

  // Into the recorded stream alone. A signal ends that where it is; what is complete is answered all the same.
  template <class R>
  void record(const R& record) {
    if (stream_ && !cut_) write(wire::to_json(record));
    picture(record);
  }
  // Into the report alone.
  template <class R>
  void picture(const R& record) {
    if constexpr (requires { report_->add(record); })
      if (report_) report_->add(record);
  }
  bool records() const { return stream_ != nullptr || report_ != nullptr; }
  bool pictures() const { return report_ != nullptr; }
  void text(std::string_view text, bool last);
  void completion(const Completion& completion);
  void finish(const Summary& summary);  // Error{interrupted} when the recorded stream is not whole

 private:
  void write(std::string_view line);
  void say(const Summary& summary) const;

  bool json_, live_;  // live: one request's text as it grows
  std::int64_t tokens_ = 0;
  double started_s_ = 0;
  cli::Progress progress_;  // the stream's own stays silent beside it
  std::string record_name_;
  ByteWriter out_{"-"};
  std::unique_ptr<cli::RecordSink> stream_;
  std::string report_name_;
  std::unique_ptr<report::RunData> report_;
  bool cut_ = false;  // by a signal
};

}  // namespace afore::serve
