#include "report/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "report/markup.h"
#include "util/error.h"

namespace afore::report {
namespace {

constexpr double kGanttLeft = 62, kGanttRight = 16;
constexpr std::size_t kMostAttention = 12, kMostFfn = 24;
constexpr std::size_t kMostTargets = 48;         // of a step, before a part of it is shown
constexpr double kJoin = 0.4, kLabelWidth = 27;  // px
constexpr std::array<int, 6> kMicrobatchColors = {0, 2, 6, 5, 3, 4};
constexpr std::size_t kCopyColor = 1;

struct Strip {
  double at = 0, height = 0;
};
struct Rows {
  bool links = false;
  double attention_height = 18, ffn_height = 0;
  std::array<Strip, 4> strips;  // of an FFN worker, by lane
};

Rows make_rows(bool links, bool many) {
  Rows rows;
  rows.links = links;
  const double compute = many ? 10 : 14, copy = many ? 5 : 6, link = links ? 3 : 0;
  const double below = link > 0 ? link + 1 : 0;
  rows.strips[static_cast<std::size_t>(Lane::a2f)] = {0, link};
  rows.strips[static_cast<std::size_t>(Lane::compute)] = {below, compute};
  rows.strips[static_cast<std::size_t>(Lane::copy)] = {below + compute + 1, copy};
  rows.strips[static_cast<std::size_t>(Lane::f2a)] = {below + compute + 1 + copy + 1, link};
  rows.ffn_height = below + compute + 1 + copy + below + (many ? 4 : 7);
  rows.attention_height = compute + (many ? 3 : 5);
  return rows;
}

// Workers to draw, ascending: up to half of the places for those with most copies, the others evenly spaced.
std::vector<int> chosen(const Timeline& timeline, char pool, std::size_t most) {
  std::map<int, std::int64_t> copies;  // by worker that did anything
  for (const Slice& slice : timeline.slices)
    if (slice.pool == pool) copies[slice.worker] += slice.lane == Lane::copy && slice.step == timeline.step;
  std::vector<int> all;
  for (const auto& [worker, n] : copies) all.push_back(worker);
  if (all.size() <= most) return all;
  std::vector<int> by_copies = all;
  std::stable_sort(by_copies.begin(), by_copies.end(), [&](int a, int b) { return copies[a] > copies[b]; });
  std::set<int> picked;
  for (std::size_t i = 0; i < most / 2 && copies[by_copies[i]] > 0; ++i) picked.insert(by_copies[i]);
  std::erase_if(all, [&](int worker) { return picked.contains(worker); });
  const std::size_t spread = most - picked.size();
  for (std::size_t i = 0; i < spread; ++i) picked.insert(all[i * all.size() / spread]);
  return {picked.begin(), picked.end()};
}

std::size_t targets_of(const Timeline& timeline) {
  std::set<std::pair<int, int>> targets;
  for (const Slice& slice : timeline.slices)
    if (slice.step == timeline.step) targets.emplace(slice.layer, slice.microbatch);
  return targets.size();
}

TimeWindow usual_window(const Timeline& timeline) {
  const Nanos all = timeline.to_ns - timeline.from_ns;
  const std::size_t targets = targets_of(timeline);
  if (targets <= kMostTargets) return {0, all};
  const Nanos part = std::max<Nanos>(1, all * static_cast<Nanos>(kMostTargets) / static_cast<Nanos>(targets));
  Nanos begin = 0;
  for (const Slice& slice : timeline.slices)
    if (slice.lane == Lane::copy && slice.step == timeline.step) {
      begin = std::max<Nanos>(0, slice.start_ns - timeline.from_ns - part / 20);
      break;
    }
  begin = std::min(begin, all - part);
  return {begin, begin + part};
}

std::string class_of(const Slice& slice, bool past) {
  std::string name;
  if (slice.work == Work::copy) name = fmt::format("f{}", kCopyColor);
  else if (slice.work == Work::link) name = "link";
  else if (slice.work == Work::sampling || slice.work == Work::other) name = "f7";
  else name = fmt::format("f{}", kMicrobatchColors[static_cast<std::size_t>(slice.microbatch) % 6]);
  return past ? name + " past" : name;
}

class Drawing {
 public:
  Drawing(Canvas& canvas, const Timeline& timeline, const TimeWindow& window)
      : canvas_(canvas),
        timeline_(timeline),
        from_(timeline.from_ns + window.first),
        to_(timeline.from_ns + window.second) {}

  void run(const std::vector<int>& attention, const std::vector<int>& ffn, const Rows& rows);
  std::size_t drawn() const { return drawn_; }

 private:
  struct Pending {
    double begin = -1, end = -1;  // px
  };
  Strip strip_of(char pool, Lane lane) const {
    const Strip& strip = rows_.strips[static_cast<std::size_t>(lane)];
    return pool == 'A' ? Strip{0, strip.height} : strip;
  }
  void place(const std::vector<int>& workers, char pool, const char* title);
  void draw(const Slice& slice);
  void emit(const std::string& classes, double begin, double end, double y, double height);
  void label(const Slice& slice, double begin, double end, double y, double height);
  void axis(double top);
  void legend();

  Canvas& canvas_;
  const Timeline& timeline_;
  Nanos from_, to_;
  double y_ = 0;
  Rows rows_;
  std::map<std::pair<char, int>, double> tops_;
  std::map<std::string, std::string> paths_;                            // by class
  std::map<std::tuple<double, double, std::string>, Pending> pending_;  // by strip and class
  std::vector<std::tuple<double, double, std::string>> labels_;
  std::vector<std::pair<double, std::string>> titles_;  // of the groups, by y
  std::size_t drawn_ = 0;
};

void Drawing::place(const std::vector<int>& workers, char pool, const char* title) {
  if (workers.empty()) return;
  const int all = pool == 'A' ? timeline_.attention_workers : timeline_.ffn_workers;
  const bool some = static_cast<int>(workers.size()) < all;
  const std::string text = some ? fmt::format("{}, {} of {}", title, workers.size(), all) : title;
  titles_.emplace_back(y_, text);
  y_ += 20;
  const Strip compute = strip_of(pool, Lane::compute);
  const double height = pool == 'A' ? rows_.attention_height : rows_.ffn_height;
  const double middle = compute.at + compute.height / 2;
  for (const int worker : workers) {
    tops_[{pool, worker}] = y_;
    canvas_.text(kGanttLeft - 6, y_ + middle + 4, fmt::format("{}{}", pool, worker), Anchor::end, "soft small");
    y_ += height;
  }
  y_ += 8;
}

void Drawing::emit(const std::string& classes, double begin, double end, double y, double height) {
  const double width = std::max(0.4, end - begin - (end - begin > 3 ? 0.5 : 0));  // neighbours stay apart
  fmt::format_to(std::back_inserter(paths_[classes]), "M{:.1f} {:.1f}h{:.1f}v{:.1f}h{:.1f}z", begin, y, width, height,
                 -width);
}

void Drawing::label(const Slice& slice, double begin, double end, double y, double height) {
  if (slice.lane != Lane::compute || height < 10 || slice.step != timeline_.step) return;
  const std::string text = slice.work == Work::sampling ? "S" : fmt::format("L{}", slice.layer);
  if (end - begin < kLabelWidth) return;
  labels_.emplace_back((begin + end) / 2, y + height / 2 + 3.4, text);
}

// Slices closer than a fraction of a pixel are joined: a long window would otherwise repeat itself below what shows.
void Drawing::draw(const Slice& slice) {
  const auto top = tops_.find({slice.pool, slice.worker});
  if (top == tops_.end() || slice.end_ns < from_ || slice.start_ns > to_) return;
  const Strip strip = strip_of(slice.pool, slice.lane);
  if (strip.height == 0) return;
  const double scale = (kPictureWidth - kGanttLeft - kGanttRight) / static_cast<double>(to_ - from_);
  const double begin = kGanttLeft + static_cast<double>(std::max(slice.start_ns, from_) - from_) * scale;
  const double end = kGanttLeft + static_cast<double>(std::min(slice.end_ns, to_) - from_) * scale;
  const double y = top->second + strip.at;
  const std::string classes = class_of(slice, slice.step != timeline_.step);
  label(slice, begin, end, y, strip.height);
  ++drawn_;
  Pending& open = pending_[{y, strip.height, classes}];
  if (open.end >= 0 && begin - open.end < kJoin && (end - begin < 1 || open.end - open.begin < 1)) {
    open.end = std::max(open.end, end);
    return;
  }
  if (open.end >= 0) emit(classes, open.begin, open.end, y, strip.height);
  open = {begin, end};
}

void Drawing::axis(double top) {
  const Unit unit = time_unit(static_cast<double>(to_ - from_));
  const Scale x{static_cast<double>(from_ - timeline_.from_ns) / unit.size,
                static_cast<double>(to_ - timeline_.from_ns) / unit.size, kGanttLeft, kPictureWidth - kGanttRight,
                false};
  const Scale y{0, 1, y_, top, false};
  draw_x_axis(canvas_, x, y, linear_ticks(x.lo, x.hi, 11), fmt::format("time since the step began [{}]", unit.name));
}

void Drawing::legend() {
  std::set<int> microbatches;
  bool sampling = false, copies = false, links = false, past = false;
  for (const Slice& slice : timeline_.slices) {
    if (slice.work == Work::attention || slice.work == Work::expert_ffn) microbatches.insert(slice.microbatch);
    sampling |= slice.work == Work::sampling;
    copies |= slice.work == Work::copy;
    links |= slice.work == Work::link;
    past |= slice.step != timeline_.step;
  }
  std::vector<Key> keys;
  int shown = 0;
  for (const int m : microbatches) {
    if (++shown > 6) break;
    keys.push_back(
        {fmt::format("microbatch {}", m), fmt::format("f{}", kMicrobatchColors[static_cast<std::size_t>(m) % 6])});
  }
  if (sampling) keys.push_back({"sampling", "f7"});
  if (copies) keys.push_back({"copy of an expert", fmt::format("f{}", kCopyColor)});
  if (links) keys.push_back({"hidden states: A to F above, F to A below", "link"});
  if (past) keys.push_back({"other steps", "f7 past"});
  y_ = draw_keys(canvas_, 12, canvas_.top() + 18, kPictureWidth - kGanttRight, keys) + 4;
}

void Drawing::run(const std::vector<int>& attention, const std::vector<int>& ffn, const Rows& rows) {
  rows_ = rows;
  legend();
  const double top = y_;
  place(attention, 'A', "attention workers");
  place(ffn, 'F', "FFN workers");
  axis(top);
  for (const auto& [y, text] : titles_) {  // on paper: grid lines end there
    canvas_.rect(12, y, 7.2 * static_cast<double>(text_width(text)), 16, "paper");
    canvas_.text(12, y + 12, text, Anchor::start, "bold");
  }
  for (const Slice& slice : timeline_.slices) draw(slice);
  for (const auto& [key, open] : pending_) {
    const auto& [y, height, classes] = key;
    if (open.end >= 0) emit(classes, open.begin, open.end, y, height);
  }
  for (const auto& [classes, path] : paths_) canvas_.path(path, classes);
  for (const auto& [x, y, text] : labels_) canvas_.text(x, y, text, Anchor::middle, "on tiny");
  canvas_.end_at(y_ + 46);
}

bool any_links(const Timeline& timeline) {
  return std::any_of(timeline.slices.begin(), timeline.slices.end(),
                     [](const Slice& s) { return s.work == Work::link; });
}

const char* name_of(Lane lane) {
  constexpr std::array<const char*, 4> kNames = {"compute", "copy", "a2f", "f2a"};
  return kNames[static_cast<std::size_t>(lane)];
}

const char* name_of(const Slice& slice) {
  constexpr std::array<const char*, 6> kNames = {"attention",   "sampling", "expert_ffn",
                                                 "copy_expert", "receive",  "other"};
  return slice.lane == Lane::f2a ? "send" : kNames[static_cast<std::size_t>(slice.work)];
}

}  // namespace

Canvas gantt(const Timeline& timeline, const std::optional<TimeWindow>& window, const std::string& subtitle) {
  const TimeWindow shown = window.value_or(usual_window(timeline));
  const Nanos all = timeline.to_ns - timeline.from_ns;
  std::string note = fmt::format("{}; step {}", subtitle, timeline.step);
  if (shown != TimeWindow{0, all}) {
    const Unit unit = time_unit(static_cast<double>(std::max(shown.second, all)));
    const auto in_unit = [&](Nanos ns) { return brief(static_cast<double>(ns) / unit.size); };
    note += fmt::format(", {} to {} of {} {}", in_unit(shown.first), in_unit(shown.second), in_unit(all), unit.name);
  }
  Canvas canvas(kPictureWidth, "What every worker did", note);
  const auto attention = chosen(timeline, 'A', kMostAttention), ffn = chosen(timeline, 'F', kMostFfn);
  Drawing drawing(canvas, timeline, {shown.first, std::max(shown.second, shown.first + 1)});
  drawing.run(attention, ffn, make_rows(any_links(timeline), ffn.size() > 12));
  if (drawing.drawn() == 0)
    throw Error(ErrorKind::usage, fmt::format("no operation of step {} is within the window: the step takes {} us",
                                              timeline.step, all / 1000));
  return canvas;
}

Table gantt_data(const Timeline& timeline) {
  Table table({{"worker", Align::left},
               {"lane", Align::left},
               {"op", Align::left},
               {"step"},
               {"layer"},
               {"microbatch"},
               {"start_ns"},
               {"end_ns"}});
  for (const Slice& s : timeline.slices)
    table.add_row({fmt::format("{}{}", s.pool, s.worker), name_of(s.lane), name_of(s), std::to_string(s.step),
                   std::to_string(s.layer), std::to_string(s.microbatch), std::to_string(s.start_ns),
                   std::to_string(s.end_ns)});
  return table;
}

Table gantt_figures(const Timeline& timeline) {
  struct Busy {
    Nanos compute_ns = 0, copy_ns = 0;
    std::int64_t copies = 0;
  };
  std::map<std::pair<char, int>, Busy> workers;
  for (const Slice& s : timeline.slices) {
    Busy& busy = workers[{s.pool, s.worker}];
    const Nanos ns = std::max<Nanos>(0, std::min(s.end_ns, timeline.to_ns) - std::max(s.start_ns, timeline.from_ns));
    if (s.lane == Lane::compute) busy.compute_ns += ns;
    if (s.lane == Lane::copy) {
      busy.copy_ns += ns;
      ++busy.copies;
    }
  }
  const double all = static_cast<double>(std::max<Nanos>(1, timeline.to_ns - timeline.from_ns));
  Table table({{"worker", Align::left}, {"computes"}, {"receives copies"}, {"copies"}});
  for (const auto& [worker, busy] : workers)
    table.add_row({fmt::format("{}{}", worker.first, worker.second),
                   fmt::format("{:.1f}%", 100 * static_cast<double>(busy.compute_ns) / all),
                   fmt::format("{:.1f}%", 100 * static_cast<double>(busy.copy_ns) / all), grouped(busy.copies)});
  return table;
}

}  // namespace afore::report
