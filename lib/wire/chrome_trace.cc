#include "wire/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "wire/chrome_flows.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

using Slice = ChromeTrace::Slice;

constexpr std::array<std::string_view, 4> kLanes = {"compute", "copy", "a2f", "f2a"};
constexpr int kMostWorkers = 1 << 20;  // as in every record
constexpr std::uint8_t kCompute = 0, kCopy = 1;
constexpr std::array<const char*, 3> kProcesses = {"attention workers", "FFN workers", "links"};

int pid_of(const Slice& slice) { return slice.pool == 'A' ? 1 : slice.lane <= kCopy ? 2 : 3; }

// Microseconds with the nanoseconds as digits behind the point, exact where a double would not be.
std::string micros(Nanos ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

struct Threads {
  std::map<std::tuple<int, char, int, std::uint8_t>, std::vector<Nanos>> busy_until;  // of a lane's threads
  std::vector<std::pair<std::uint32_t, std::string>> names;                           // by number: pid, name
  std::map<std::tuple<int, char, int, std::uint8_t, std::size_t>, int> numbers;
  std::vector<int> of_slice;
};

// Threads by process, worker and lane; slices of a lane one after the other, those that overlap on further threads.
Threads threads_of(const std::vector<Slice>& slices) {
  Threads threads;
  std::vector<std::size_t> nth;
  for (const Slice& slice : slices) {
    auto& lanes = threads.busy_until[{pid_of(slice), slice.pool, slice.worker, slice.lane}];
    std::size_t k = 0;
    while (k < lanes.size() && lanes[k] > slice.start_ns) ++k;
    if (k == lanes.size()) lanes.push_back(0);
    lanes[k] = slice.end_ns;
    nth.push_back(k);
  }
  for (const auto& [key, lanes] : threads.busy_until) {
    const auto& [pid, pool, worker, lane] = key;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      threads.numbers[{pid, pool, worker, lane, k}] = static_cast<int>(threads.names.size()) + 1;
      threads.names.emplace_back(pid, fmt::format("{}{} {}{}", pool, worker, kLanes[lane],
                                                  k == 0 ? std::string() : fmt::format(" ({})", k + 1)));
    }
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& s = slices[i];
    threads.of_slice.push_back(threads.numbers.at({pid_of(s), s.pool, s.worker, s.lane, nth[i]}));
  }
  return threads;
}

class Events {
 public:
  Events() { out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"; }

  // `rest`: of the object, from its second key on.
  void add(std::string_view phase, std::string_view rest) {
    if (!std::exchange(first_, false)) out_ += ",\n";
    out_ += fmt::format("{{\"ph\":\"{}\",{}}}", phase, rest);
  }
  std::string take() {
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  std::string out_;
  bool first_ = true;
};

std::string json_text(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

void add_names(Events& events, const Threads& threads) {
  for (std::size_t p = 0; p < kProcesses.size(); ++p) {
    const bool used = std::any_of(threads.names.begin(), threads.names.end(),
                                  [&](const auto& thread) { return thread.first == p + 1; });
    if (!used) continue;
    events.add("M", fmt::format("\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":\"{}\"}}", p + 1,
                                kProcesses[p]));
    events.add("M", fmt::format("\"name\":\"process_sort_index\",\"pid\":{},\"tid\":0,\"args\":{{\"sort_index\":{}}}",
                                p + 1, p + 1));
  }
  for (std::size_t t = 0; t < threads.names.size(); ++t) {
    const auto& [pid, name] = threads.names[t];
    events.add("M", fmt::format("\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}", pid,
                                t + 1, name));
    events.add("M", fmt::format("\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}",
                                pid, t + 1, t + 1));
  }
}

std::string short_name(std::string_view op) {
  if (op == "expert_ffn") return "ffn";
  return std::string(op == "copy_expert" ? "copy" : op);
}

void add_slices(Events& events, const std::vector<Slice>& slices, const std::vector<std::string>& ops,
                const Threads& threads) {
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& s = slices[i];
    const std::string& op = ops[static_cast<std::size_t>(s.op)];
    const std::string name = fmt::format("L{}/mb{} {}", s.target.layer, s.target.microbatch, short_name(op));
    events.add("X", fmt::format("\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{"
                                "\"op\":{},\"step\":{},\"layer\":{},\"microbatch\":{}}}",
                                json_text(name), kLanes[s.lane], pid_of(s), threads.of_slice[i], micros(s.start_ns),
                                micros(s.end_ns - s.start_ns), json_text(op), s.target.step, s.target.layer,
                                s.target.microbatch));
  }
}

// An arrow begins within its slice: at the very end it would belong to whatever begins there.
void add_flows(Events& events, const std::vector<Flow>& flows, const std::vector<Slice>& slices,
               const Threads& threads) {
  std::int64_t id = 0;
  for (const Flow& flow : flows) {
    const Slice &from = slices[flow.from], &to = slices[flow.to];
    const auto end = [&](std::size_t slice, Nanos at, const char* more) {
      return fmt::format("\"name\":\"{}\",\"cat\":\"flow\",\"id\":{},\"pid\":{},\"tid\":{},\"ts\":{}{}", flow.name, id,
                         pid_of(slices[slice]), threads.of_slice[slice], micros(at), more);
    };
    ++id;
    events.add("s", end(flow.from, std::max(from.start_ns, from.end_ns - 1), ""));
    events.add("f", end(flow.to, to.start_ns, ",\"bp\":\"e\""));
  }
}

// One value after each moment at which it changes.
class Counter {
 public:
  // Values are counts times `size`.
  Counter(Events& events, int pid, std::string name, std::string unit, std::int64_t size = 1)
      : events_(events), pid_(pid), name_(std::move(name)), unit_(std::move(unit)), size_(size) {}

  void change(Nanos at, std::int64_t by) { changes_.emplace_back(at, by); }
  void write() {
    std::sort(changes_.begin(), changes_.end());
    std::int64_t value = 0;
    for (std::size_t i = 0; i < changes_.size();) {
      const Nanos at = changes_[i].first;
      const std::int64_t before = value;
      for (; i < changes_.size() && changes_[i].first == at; ++i) value += changes_[i].second;
      if (value != before || at == changes_.front().first)
        events_.add("C", fmt::format("\"name\":\"{}\",\"pid\":{},\"tid\":0,\"ts\":{},\"args\":{{\"{}\":{:.0f}}}", name_,
                                     pid_, micros(at), unit_, static_cast<double>(value) * static_cast<double>(size_)));
    }
  }

 private:
  Events& events_;
  int pid_;
  std::string name_, unit_;
  std::int64_t size_;
  std::vector<std::pair<Nanos, std::int64_t>> changes_;
};

void add_counters(Events& events, const std::vector<Slice>& slices, std::int64_t expert_bytes) {
  Counter attention(events, 1, "computing attention workers", "workers"),
      ffn(events, 2, "computing FFN workers", "workers"), copying(events, 2, "copies under way", "copies"),
      copied(events, 2, expert_bytes > 0 ? "copied bytes" : "copied experts", expert_bytes > 0 ? "bytes" : "experts",
             std::max<std::int64_t>(1, expert_bytes));
  for (const Slice& slice : slices) {
    if (slice.lane == kCompute) {
      Counter& counter = slice.pool == 'A' ? attention : ffn;
      counter.change(slice.start_ns, 1);
      counter.change(slice.end_ns, -1);
    } else if (slice.lane == kCopy) {
      copying.change(slice.start_ns, 1);
      copying.change(slice.end_ns, -1);
      copied.change(slice.end_ns, 1);
    }
  }
  for (Counter* counter : {&attention, &ffn, &copying, &copied}) counter->write();
}

}  // namespace

void ChromeTrace::add(const Header& header) { expert_bytes_ = std::max(expert_bytes_, header.model.expert_bytes); }

void ChromeTrace::add(const Plan& plan) {
  auto& waiting = waiting_[plan.target.layer];
  for (const Copy& copy : plan.copies) {
    std::erase_if(waiting, [&](std::size_t i) { return copies_[i].worker == copy.to && copies_[i].slot == copy.slot; });
    waiting.push_back(copies_.size());
    copies_.push_back({plan.target, {}, copy.expert, copy.to, copy.slot, false});
  }
  std::erase_if(waiting, [&](std::size_t i) {
    CopyUse& copy = copies_[i];
    const auto share = std::find_if(plan.assignment.begin(), plan.assignment.end(), [&](const TileShare& s) {
      return s.expert == copy.expert && s.worker == copy.worker;
    });
    if (share == plan.assignment.end()) return false;
    copy.used = plan.target;
    return copy.is_used = true;
  });
}

void ChromeTrace::add(const Operation& operation) {
  if (step_ && operation.target.step != *step_) return;
  Slice slice;
  const std::string& name = operation.worker;
  if (name.size() < 2 || (name[0] != 'A' && name[0] != 'F')) return;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), slice.worker);
  const auto lane = std::find(kLanes.begin(), kLanes.end(), operation.lane);
  if (error != std::errc() || end != name.data() + name.size() || lane == kLanes.end()) return;
  if (slice.worker < 0 || slice.worker >= kMostWorkers) return;
  auto op = std::find(ops_.begin(), ops_.end(), operation.op);
  if (op == ops_.end() && ops_.size() >= std::numeric_limits<std::int16_t>::max()) return;
  if (op == ops_.end()) op = ops_.insert(ops_.end(), operation.op);
  slice.pool = name[0];
  slice.lane = static_cast<std::uint8_t>(lane - kLanes.begin());
  slice.op = static_cast<std::int16_t>(op - ops_.begin());
  slice.target = operation.target;
  slice.start_ns = operation.start_ns;
  slice.end_ns = operation.end_ns;
  slices_.push_back(slice);
}

std::string ChromeTrace::json() const {
  std::vector<Slice> slices = slices_;
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    const auto key = [](const Slice& s) {
      return std::tuple(s.start_ns, s.pool, s.worker, s.lane, s.end_ns, s.target, s.op);
    };
    return key(a) < key(b);
  });
  const Threads threads = threads_of(slices);
  Events events;
  add_names(events, threads);
  add_slices(events, slices, ops_, threads);
  add_flows(events, flows_of(slices, ops_, copies_), slices, threads);
  add_counters(events, slices, expert_bytes_);
  return events.take();
}

}  // namespace afore::wire
