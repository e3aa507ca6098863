#include "host/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "util/error.h"

namespace afore::host {
namespace {

constexpr Nanos kPollNs = 1'000'000;          // how often a worker looks for plans it was not told of
constexpr Nanos kNoticeLossNs = 100'000'000;  // default time until a lost worker is noticed
constexpr double kLongestNs = 1e15;           // of any time in a fault, eleven days
constexpr std::array<const char*, 7> kNames = {"kill", "pause", "slow", "late-plan", "lost-plan", "late-done", "hold"};

bool names_worker(FaultKind kind) { return kind != FaultKind::slow && kind != FaultKind::late_done; }

// One fault, from left to right.
class FaultParser {
 public:
  explicit FaultParser(std::string_view text) : text_(text), rest_(text) {}

  Fault parse() {
    Fault fault;
    fault.kind = kind();
    if (names_worker(fault.kind)) worker(fault);
    if (!take('@')) fail("@TIME is missing");
    fault.at_ns = time();
    if (take('+')) fault.length_ns = time();
    else if (fault.kind == FaultKind::kill) fault.length_ns = kNoticeLossNs;
    else fail("+TIME, how long it lasts, is missing");
    if (fault.kind == FaultKind::slow || fault.kind == FaultKind::late_done) {
      if (!take('=')) fail(fault.kind == FaultKind::slow ? "=FACTOR is missing" : "=TIME is missing");
      if (fault.kind == FaultKind::late_done) fault.lateness_ns = time();
      else fault.factor = number();
      if (fault.kind == FaultKind::slow && !(fault.factor >= 1 && fault.factor <= 1e6))
        fail("the factor is not between 1 and 1000000");
    }
    if (!rest_.empty()) fail("'" + std::string(rest_) + "' is too much");
    return fault;
  }

 private:
  [[noreturn]] void fail(const std::string& fact) const {
    throw Error(ErrorKind::usage, "fault '" + std::string(text_) + "': " + fact,
                "like kill:F2@12ms+100ms, pause:A0@3ms+2ms, slow@1ms+5ms=4, late-plan:F1@3ms+5ms, "
                "lost-plan:F1@3ms+5ms, late-done@0us+9ms=50us, hold:F3@1ms+4ms");
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  FaultKind kind() {
    const std::string_view name = rest_.substr(0, rest_.find_first_of(":@"));
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (name != kNames[i]) continue;
      rest_.remove_prefix(name.size());
      return static_cast<FaultKind>(i);
    }
    fail("unknown kind '" + std::string(name) + "'");
  }

  void worker(Fault& fault) {
    const bool attention_too = fault.kind == FaultKind::pause;
    if (!take(':') || rest_.empty() || (rest_.front() != 'F' && !(attention_too && rest_.front() == 'A')))
      fail(attention_too ? "the worker is missing, like :F2 or :A0" : "the FFN worker is missing, like :F2");
    fault.pool = rest_.front();
    rest_.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), fault.worker);
    if (error != std::errc{} || fault.worker < 0) fail("the worker's number is missing");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) fail("a number is missing before '" + std::string(rest_) + "'");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Nanos time() {
    double ns = number();
    if (rest_.starts_with("ns")) ns *= 1;
    else if (rest_.starts_with("us")) ns *= 1e3;
    else if (rest_.starts_with("ms")) ns *= 1e6;
    else if (rest_.starts_with("s")) ns *= 1e9;
    else fail("a time needs a unit: ns, us, ms or s");
    rest_.remove_prefix(rest_.starts_with("s") ? 1 : 2);
    if (!(ns >= 0 && ns <= kLongestNs)) fail("a time is not between 0 and a million seconds");
    return static_cast<Nanos>(std::llround(ns));
  }

  std::string_view text_, rest_;
};

bool during(const Fault& fault, Nanos at_ns) { return fault.at_ns <= at_ns && at_ns < fault.at_ns + fault.length_ns; }

}  // namespace

std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    faults.push_back(FaultParser(text.substr(begin, end - begin)).parse());
    begin = end + 1;
  }
  return faults;
}

std::string to_string(const Fault& fault) {
  std::string text = kNames[static_cast<std::size_t>(fault.kind)];
  if (names_worker(fault.kind)) text += fmt::format(":{}{}", fault.pool, fault.worker);
  text += fmt::format("@{}ns+{}ns", fault.at_ns, fault.length_ns);
  if (fault.kind == FaultKind::late_done) text += fmt::format("={}ns", fault.lateness_ns);
  if (fault.kind == FaultKind::slow) text += fmt::format("={}", fault.factor);
  return text;
}

void check_faults(const std::vector<Fault>& faults, int attention_workers, int ffn_workers) {
  std::vector<bool> alive(ffn_workers, true);
  for (const Fault& fault : faults) {
    if (!names_worker(fault.kind)) continue;
    const int workers = fault.pool == 'A' ? attention_workers : ffn_workers;
    if (fault.worker >= workers)
      throw Error(ErrorKind::usage,
                  fmt::format("fault '{}': there are only {} such workers, counted from 0", to_string(fault), workers));
    if (fault.kind == FaultKind::kill) alive[fault.worker] = false;
  }
  if (std::count(alive.begin(), alive.end(), true) == 0)
    throw Error(ErrorKind::usage, "the faults kill every FFN worker", "leave one");
}

FaultClock::FaultClock(std::vector<Fault> faults, int attention_workers, int ffn_workers, std::uint64_t seed)
    : faults_(std::move(faults)),
      attention_workers_(attention_workers),
      last_(static_cast<std::size_t>(attention_workers + ffn_workers) * kLanes, 0),
      rng_(seed) {}

Nanos FaultClock::notices(char pool, int worker, Lane lane, Nanos at_ns) {
  if (faults_.empty()) return at_ns;
  Nanos when = at_ns;
  bool untold = false;
  for (const Fault& fault : faults_) {
    const bool here = fault.pool == pool && fault.worker == worker;
    if (fault.kind == FaultKind::late_done && lane != Lane::plan && lane != Lane::message && during(fault, at_ns) &&
        fault.lateness_ns > 0)
      when += static_cast<Nanos>(rng_.below(static_cast<std::uint64_t>(fault.lateness_ns) + 1));
    if (lane != Lane::plan || !here || !during(fault, at_ns)) continue;
    if (fault.kind == FaultKind::late_plan) when = std::max(when, fault.at_ns + fault.length_ns);
    if (fault.kind == FaultKind::lost_plan) untold = true;
  }
  if (untold) when = std::max(when, at_ns + kPollNs);
  // Pauses may follow each other.
  for (bool moved = true; moved;) {
    moved = false;
    for (const Fault& fault : faults_)
      if (fault.kind == FaultKind::pause && fault.pool == pool && fault.worker == worker && during(fault, when)) {
        when = fault.at_ns + fault.length_ns;
        moved = true;
      }
  }
  // A later plan is told of in time, and then the untold one is found with it: only that lane may overtake.
  const int row = pool == 'A' ? worker : attention_workers_ + worker;
  Nanos& last = last_[static_cast<std::size_t>(row) * kLanes + static_cast<std::size_t>(lane)];
  when = std::max(when, last);
  if (!untold) last = when;
  return when;
}

double FaultClock::slowdown(Nanos at_ns) const {
  double factor = 1;
  for (const Fault& fault : faults_)
    if (fault.kind == FaultKind::slow && during(fault, at_ns)) factor = std::max(factor, fault.factor);
  return factor;
}

Nanos FaultClock::held_until(int ffn_worker, Nanos at_ns) const {
  Nanos until = at_ns;
  for (const Fault& fault : faults_)
    if (fault.kind == FaultKind::hold && fault.worker == ffn_worker && during(fault, at_ns))
      until = std::max(until, fault.at_ns + fault.length_ns);
  return until;
}

}  // namespace afore::host
