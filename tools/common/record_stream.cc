#include "common/record_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "common/messages.h"
#include "util/error.h"

namespace afore::cli {

void add_recover(Command app, std::string& choice) {
  app.choice("--recover", choice,
             "Where the input is a log: strict refuses any damage, tail leaves out an unfinished end, skip any damage",
             {"strict", "tail", "skip"});
}

Recover recover_of(const std::string& choice) {
  if (choice == "strict") return Recover::strict;
  return choice == "skip" ? Recover::skip : Recover::tail;
}

void warn_of_losses(const LineReader& lines) {
  const LogReport* report = lines.log_report();
  if (report == nullptr) return;
  const std::string losses = describe_losses(*report);
  if (!losses.empty()) warn(lines.name() + ": " + losses);
}

namespace {

// Of a regular file that is not compressed; what is read of a log is counted as it is stored.
std::int64_t size_of_input(const std::string& path) {
  const int descriptor = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return kAbsent;
  constexpr unsigned char kZstdMagic[4] = {0x28, 0xB5, 0x2F, 0xFD};
  unsigned char magic[4] = {};
  struct stat about = {};
  std::int64_t size = kAbsent;
  if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && pread(descriptor, magic, sizeof magic, 0) >= 0 &&
      !std::equal(magic, magic + 4, kZstdMagic))
    size = about.st_size;
  close(descriptor);
  return size;
}

}  // namespace

RecordStream::RecordStream(const std::string& path, const wire::ReadOptions& options, Recover recover,
                           Progress::Output output)
    : lines_(path, recover),
      options_(options),
      decoder_(lines_.name(), options),
      input_bytes_(isatty(STDERR_FILENO) == 1 ? size_of_input(path) : kAbsent),
      progress_("records", kAbsent, output) {}

bool RecordStream::next_line() {
  if (!ahead_.empty()) {
    held_ = std::move(ahead_.front());
    ahead_.pop_front();
    raw_ = held_;
    ++line_number_;
    return true;
  }
  if (broken_) std::rethrow_exception(std::exchange(broken_, nullptr));
  if (!lines_.next(raw_)) return false;
  line_number_ = lines_.line_number();
  return true;
}

void RecordStream::end() {
  progress_.finish();
  warn_of_losses(lines_);
  // A stream begins with its header: nothing at all is what a command leaves that failed at the other end of the pipe.
  if (line_number_ == 0 && !may_be_empty_)
    throw Error(ErrorKind::data, lines_.name() + ": there is no record in it",
                "did the command that was to write it fail?");
}

namespace {

constexpr std::size_t kMostAhead = std::size_t{64} << 20;

}  // namespace

void RecordStream::look_ahead(std::int64_t steps, const std::function<void(const Record&)>& see) {
  held_ = raw_;
  raw_ = held_;
  // Checks of order and sums belong to the reading proper: what fails here fails again there, in its place.
  wire::RecordDecoder decoder(lines_.name(), options_);
  std::optional<std::int64_t> first_step;
  const auto wanted = [&](const Record& record) {
    const auto* demand = std::get_if<Demand>(&record);
    if (demand == nullptr) {
      see(record);
      return !std::holds_alternative<RequestRecord>(record) && !std::holds_alternative<SequenceRecord>(record);
    }
    if (!first_step) first_step = demand->target.step;
    if (steps > 0 ? demand->target.step >= *first_step + steps : demand->phase != Phase::warmup) return false;
    see(record);
    return true;
  };
  std::size_t bytes = 0;
  try {
    if (!wanted(decoder.decode(raw_, line_number_))) return;
    for (std::string_view line; lines_.next(line);) {
      ahead_.emplace_back(line);
      if ((bytes += line.size()) > kMostAhead) return;  // what was seen must do
      if (!wanted(decoder.decode(line, lines_.line_number()))) return;
    }
  } catch (const Error&) {
    // A line that cannot be read is among those kept, unless reading itself failed.
    if (ahead_.empty() || lines_.line_number() != line_number_ + std::ssize(ahead_)) broken_ = std::current_exception();
  }
}

void RecordStream::note_losses(Summary& summary) const {
  const LogReport* report = lines_.log_report();
  if (report == nullptr) return;
  summary.input_lost_lines = report->lost_lines;
  summary.input_lost_bytes = report->lost_bytes;
}

wire::ReadOptions read_options(std::int64_t top_k, bool allow_drop) {
  wire::ReadOptions options;
  options.allow_drop = allow_drop;
  if (top_k > 0) options.top_k = top_k;
  return options;
}

std::string_view kind_of(const Record& record) {
  struct Name {
    std::string_view operator()(const Header&) { return "header"; }
    std::string_view operator()(const Batch&) { return "batch"; }
    std::string_view operator()(const Demand&) { return "demand"; }
    std::string_view operator()(const Routing&) { return "routing"; }
    std::string_view operator()(const Prediction&) { return "prediction"; }
    std::string_view operator()(const PlacementRecord&) { return "placement"; }
    std::string_view operator()(const Plan&) { return "plan"; }
    std::string_view operator()(const Observed&) { return "observed"; }
    std::string_view operator()(const Operation&) { return "operation"; }
    std::string_view operator()(const SequenceRecord&) { return "sequence"; }
    std::string_view operator()(const RequestRecord&) { return "request"; }
    std::string_view operator()(const Completion&) { return "completion"; }
    std::string_view operator()(const Summary&) { return "summary"; }
    std::string_view operator()(const UnknownRecord& record) { return record.kind; }
  };
  return std::visit(Name{}, record);
}

}  // namespace afore::cli
