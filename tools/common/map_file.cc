#include "common/map_file.h"

#include <algorithm>

#include "util/error.h"
#include "util/line_io.h"
#include "wire/foreign/ascend_json.h"
#include "wire/foreign/eplb_json.h"
#include "wire/foreign/sglang_json.h"
#include "wire/foreign/sglang_pt.h"
#include "wire/foreign/trtllm.h"
#include "wire/foreign/vllm_json.h"
#include "wire/foreign/vllm_npy.h"

namespace afore::cli {
namespace {

using Table = std::variant<wire::MapFile, wire::CountsFile, wire::RoutingFile>;

bool starts_with(const std::vector<std::uint8_t>& bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

template <class From>
Table widen(From value) {
  return std::visit([](auto&& inner) -> Table { return std::move(inner); }, std::move(value));
}

}  // namespace

bool is_npy(const std::vector<std::uint8_t>& bytes) { return starts_with(bytes, "\x93NUMPY"); }

Table load_map_file(const std::string& path, wire::MapTarget target, const MapFileOptions& options) {
  std::vector<std::uint8_t> bytes = read_file_bytes(path, kMaxForeignBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (target) {
    case wire::MapTarget::sglang:
      // A torch.save of today is a zip; one of before 1.6 is refused by the same reader, with a hint.
      if (starts_with(bytes, "PK") || starts_with(bytes, "\x80"))
        return widen(wire::parse_sglang_torch(std::move(bytes), path));
      return widen(wire::parse_sglang_json(text, path));
    case wire::MapTarget::vllm:
      if (is_npy(bytes)) return wire::map_from_npy(bytes, path, wire::LayerAxis::moe);
      return wire::parse_vllm_map(text, path, options.model_class);
    case wire::MapTarget::trtllm: return wire::parse_trtllm_yaml(text, path);
    case wire::MapTarget::ascend: return wire::parse_ascend_map(text, path);
    case wire::MapTarget::eplb: break;
  }
  if (!is_npy(bytes)) return widen(wire::parse_eplb_json(text, path));
  if (options.array_is_map) return wire::map_from_npy(bytes, path, wire::LayerAxis::unsaid);
  return wire::counts_from_npy(bytes, path, wire::LayerAxis::unsaid, wire::ExpertIds::logical);
}

}  // namespace afore::cli
