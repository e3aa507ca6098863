#pragma once
// A published plan as flat bytes, for workers in threads and processes of one machine: numbers as they stand in memory,
// lists and texts behind their length, nothing points anywhere.
#include <memory>
#include <string>
#include <string_view>

#include "pipeline/messages.h"

namespace afore::host {

// What the ids in a plan are below.
struct PlanShape {
  int experts = 0;
  int workers = 0;
  int slots_per_worker = 0;
};

// Replaces what `bytes` holds; its capacity is kept.
void encode_plan(const pipeline::PublishedPlan& plan, std::string& bytes);

// Error{data} for everything that does not come from encode_plan() of a plan of this shape, or would lead a worker
// astray: lists longer than the bytes, ids out of range, shares that do not follow from the assignment, sums that do
// not add up, tokens of an expert given out twice or not at all. Numbers that only metrics read are taken as they are.
std::shared_ptr<pipeline::PublishedPlan> decode_plan(std::string_view bytes, const PlanShape& shape);

}  // namespace afore::host
