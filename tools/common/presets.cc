#include "common/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/nearest.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {

namespace {

constexpr std::size_t kMaxCostFileBytes = 1u << 20;

// "h100*40": 40 times as slow, for runs that pace themselves.
std::optional<HardwareProfile> slowed_cost(const std::string& text) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos || star == 0 || access(text.c_str(), F_OK) == 0) return std::nullopt;
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + star + 1, end, factor);
  if (error != std::errc() || read != end || !(factor >= 1e-3 && factor <= 1e6))
    throw Error(ErrorKind::usage, fmt::format("--cost: \"{}\" does not end in a factor from 0.001 to 1e6", text),
                "like --cost 'h100*40', 40 times as slow as an h100");
  const std::string machine = text.substr(0, star);
  if (machine.find('*') != std::string::npos && access(machine.c_str(), F_OK) != 0)
    throw Error(ErrorKind::usage, fmt::format("--cost: \"{}\" has more than one factor", text),
                "multiply them: one factor behind the machine, like --cost 'h100*40'");
  HardwareProfile profile = slowed(load_cost(machine), factor);
  profile.name = text;
  return profile;
}

}  // namespace

HardwareProfile load_cost(const std::string& name_or_path) {
  if (std::optional<HardwareProfile> profile = slowed_cost(name_or_path)) return *profile;
  if (const HardwareProfile* profile = find_hardware_profile(name_or_path)) return *profile;
  if (access(name_or_path.c_str(), F_OK) != 0) {
    throw Error(
        ErrorKind::usage, fmt::format("--cost: \"{}\" is neither a built-in profile nor a file", name_or_path),
        fmt::format("{}built in: {}; or a file made by afore-migrate calibrate",
                    guess_at(name_or_path, hardware_profile_names()), fmt::join(hardware_profile_names(), ", ")));
  }
  const std::vector<std::uint8_t> bytes = read_file_bytes(name_or_path, kMaxCostFileBytes);
  return wire::parse_cost_file(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                               name_or_path);
}

const ModelSpec& load_model_preset(const std::string& name, const std::string& flag) {
  if (const ModelSpec* preset = find_model_preset(name)) return *preset;
  std::vector<std::string> names;
  for (const ModelSpec& preset : model_presets()) names.push_back(preset.name);
  throw Error(ErrorKind::usage, fmt::format("{}: there is no preset \"{}\"", flag, name),
              fmt::format("{}presets: {}", guess_at(name, names), fmt::join(names, ", ")));
}

}  // namespace afore::cli
