#pragma once
// "measured" of a cost file. Inside this room only.
#include "core/calibration.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::wire {

Calibration read_calibration(JsonValue value);  // strict: unknown keys are errors
void write_calibration(JsonWriter& json, const Calibration& measured);

}  // namespace afore::wire
