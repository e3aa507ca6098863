#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "wire/foreign/pickle.h"

namespace afore::wire {

// Values may be shared, so that walking all paths could take for ever: each container is walked once, with its height.
void Pickle::check_nesting() const {
  constexpr std::uint8_t kUnseen = 255, kOpen = 254;
  std::vector<std::uint8_t> heights(containers_.size(), kUnseen);
  struct Frame {
    std::size_t container, next;
    int height;
  };
  std::vector<Frame> path;
  const auto is_container = [&](Id id) { return type(id) >= PickleType::list && type(id) <= PickleType::dict; };
  const auto enter = [&](Id id) {
    const auto container = static_cast<std::size_t>(nodes_[id].value);
    heights[container] = kOpen;
    path.push_back({container, 0, 1});
  };
  if (is_container(root_)) enter(root_);
  while (!path.empty()) {
    Frame& top = path.back();
    if (top.next == containers_[top.container].size()) {
      const int height = top.height;
      heights[top.container] = static_cast<std::uint8_t>(height);
      path.pop_back();
      if (!path.empty()) path.back().height = std::max(path.back().height, height + 1);
      continue;
    }
    const Id child = containers_[top.container][top.next++];
    if (!is_container(child)) continue;
    const std::uint8_t seen = heights[static_cast<std::size_t>(nodes_[child].value)];
    if (seen == kOpen) throw Error(ErrorKind::data, source_ + ": data.pkl: a container stands within itself");
    const int below = seen == kUnseen ? 1 : seen;
    if (path.size() + static_cast<std::size_t>(below) > kMaxPickleDepth)
      throw Error(ErrorKind::data,
                  fmt::format("{}: data.pkl: values nest deeper than {} levels", source_, kMaxPickleDepth));
    if (seen == kUnseen) enter(child);
    else top.height = std::max(top.height, below + 1);
  }
}

}  // namespace afore::wire
