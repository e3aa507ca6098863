#pragma once
// "sm_partitions" of what was measured on GPUs that workers share.
#include "core/sm_split.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::wire {

SmSplit read_sm_split(JsonValue value);  // strict: unknown keys are errors
void write_sm_split(JsonWriter& json, const SmSplit& split);

}  // namespace afore::wire
