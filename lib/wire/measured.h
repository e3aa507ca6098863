#pragma once
// Measured tables in the forms they are published in, recognised by their columns (docs/metrics.md, "fitted costs"):
// aiconfigurator's DeepEPMoE generation and context tables, NCCL and DeepEP low-latency tables, and Frontier's MoE
// layer profile.
#include <string>
#include <string_view>

#include "core/measured.h"
#include "wire/csv.h"

namespace afore::wire {

// The GPU a text names ("NVIDIA H100 80GB HBM3" -> "h100"), empty when it names none or more than one.
std::string device_in(std::string_view text);

// The device is that of the device column, else of the file's name, else `device`; where two of them disagree, or
// none says, Error{data}. Error{data} with file and line too for times that are not above 0, shapes that make no
// sense and forms that are not known.
MeasuredTable read_measured(const CsvTable& table, const std::string& device);

}  // namespace afore::wire
