#include "c/plan_image.h"

#include <algorithm>
#include <cstring>

#include "c/internal.h"

namespace afore::c {
namespace {

constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;  // so that sums of bytes stay within 64 bits

bool below(std::int64_t id, std::int64_t end) { return id >= 0 && id < end; }

struct Checker {
  int status;
  void operator()(bool holds, const char* fact) const { refuse_unless(holds, status, fact); }
};

void check_counts(const afore_plan& plan, const Checker& check) {
  check(plan.experts > 0 && plan.workers > 0 && plan.slots_per_worker > 0, "a plan without experts or workers");
  check(below(plan.workers, kMostEntries) && below(plan.copy_count, kMostEntries) &&
            below(plan.share_count, kMostEntries),
        "a plan with a list that cannot be");
}

void check_lists(const afore_plan& plan, const Checker& check) {
  check(plan.step >= 0 && plan.layer >= 0 && plan.microbatch >= 0 && plan.tokens >= 0 && plan.seq >= 0,
        "a plan with a number below 0");
  for (const afore_copy& copy : std::span(plan.copies, plan.copy_count)) {
    check(below(copy.expert, plan.experts), "a copy of an unknown expert");
    check(below(copy.from, plan.workers) && below(copy.to, plan.workers), "a copy between unknown workers");
    check(copy.slot >= -1 && copy.slot < plan.slots_per_worker, "a copy into an unknown slot");
  }
  const afore_share* before = nullptr;
  for (const afore_share& share : std::span(plan.shares, plan.share_count)) {
    check(below(share.expert, plan.experts) && below(share.worker, plan.workers), "work for an unknown replica");
    check(share.tiles > 0 && share.tokens >= 0, "a share of nothing");
    check(before == nullptr || before->expert < share.expert ||
              (before->expert == share.expert && before->worker < share.worker),
          "shares out of order");
    before = &share;
  }
  for (const std::int64_t tiles : std::span(plan.tile_load, plan.workers)) check(tiles >= 0, "a load below 0");
}

template <class T>
void append(std::string& bytes, const T* data, std::int64_t count) {
  if (count > 0) bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace

void write_image(const afore_plan& given, std::string& bytes) {
  const Checker check{AFORE_E_DATA};
  refuse_unless(size_fits(given.struct_size, kLeastPlanBytes), AFORE_E_ARGUMENT, "plan: struct_size cannot be");
  afore_plan plan{};
  plan.completion_ns = -1;  // where the struct ends before it
  std::memcpy(&plan, &given, std::min<std::size_t>(given.struct_size, sizeof plan));
  check_counts(plan, check);
  check(plan.tile_load != nullptr && (plan.copies != nullptr || plan.copy_count == 0) &&
            (plan.shares != nullptr || plan.share_count == 0),
        "a plan with a list that is null");
  check_lists(plan, check);
  afore_plan head = plan;
  head.struct_size = sizeof head;
  head.copies = nullptr;
  head.shares = nullptr;
  head.tile_load = nullptr;
  bytes.clear();
  append(bytes, &head, 1);
  append(bytes, plan.tile_load, plan.workers);
  append(bytes, plan.shares, plan.share_count);
  append(bytes, plan.copies, plan.copy_count);
}

afore_plan read_image(std::span<const char> bytes) {
  const Checker check{AFORE_E_DAMAGED};
  std::uint32_t head_bytes = 0;
  check(bytes.size() >= kLeastPlanBytes, "a plan's bytes end early");
  std::memcpy(&head_bytes, bytes.data(), sizeof head_bytes);
  // Another version of the library may have written it.
  check(size_fits(head_bytes, kLeastPlanBytes) && head_bytes <= bytes.size(), "a plan's bytes end early");
  afore_plan plan{};
  plan.completion_ns = -1;  // where the struct ends before it
  std::memcpy(&plan, bytes.data(), std::min<std::size_t>(head_bytes, sizeof plan));
  check_counts(plan, check);
  const std::int64_t lists =
      plan_bytes(plan.workers, plan.share_count, plan.copy_count) - static_cast<std::int64_t>(sizeof plan);
  check(static_cast<std::int64_t>(bytes.size()) - head_bytes == lists, "a plan's lists are not as long as its bytes");
  const char* at = bytes.data() + head_bytes;
  plan.tile_load = reinterpret_cast<const std::int64_t*>(at);
  at += static_cast<std::size_t>(plan.workers) * sizeof(std::int64_t);
  plan.shares = reinterpret_cast<const afore_share*>(at);
  at += static_cast<std::size_t>(plan.share_count) * sizeof(afore_share);
  plan.copies = reinterpret_cast<const afore_copy*>(at);
  check_lists(plan, check);
  return plan;
}

}  // namespace afore::c
