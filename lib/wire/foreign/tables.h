#pragma once
// What other systems write about experts, in three shapes: where they stand, how often each was chosen, and which ones
// every token chose. A table says what its file says and no more: which layers the rows are, whether ids are of logical
// experts or of physical slots. What a file leaves open stays open here, and a flag has to say it.
// Values own their memory.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace afore::wire {

// Which layers the rows of a table stand for.
enum class LayerAxis {
  hidden,  // every hidden layer, dense ones included: row i is layer i
  moe,     // MoE layers only, by ordinal
  keyed,   // the file names the absolute layer of each row
  unsaid,  // whatever the writer chose
};

enum class ExpertIds { logical, physical, unsaid };

// A placement of a whole model, as read: nothing but its syntax has been checked (check_map.h finds what is wrong).
struct MapFile {
  struct Row {
    std::int64_t layer = 0;                          // absolute (keyed), else the position in the file
    std::vector<std::vector<std::int64_t>> by_rank;  // logical expert of each slot; one entry where ranks are not said
  };
  LayerAxis axis = LayerAxis::unsaid;
  std::vector<Row> rows;
  // What the file says of itself; absent where it does not.
  std::optional<std::int64_t> ranks, experts, physical, redundant, moe_layers;
  std::string model_name;
  // Broken rules of the format itself: unknown keys, numbers that contradict each other. Each one line with its place,
  // at most kMaxFormatViolations of them; the others are only counted.
  std::vector<std::string> violations;
  std::int64_t more_violations = 0;
};

inline constexpr std::size_t kMaxFormatViolations = 100;

// line(): "PLACE: FACT". Called only where the line is kept, as finding its place walks the file.
template <class Line>
void note_violation(MapFile& map, Line&& line) {
  if (map.violations.size() < kMaxFormatViolations) map.violations.push_back(line());
  else ++map.more_violations;
}

// Values of shape [rows][slots], row-major; one entry of by_rank per row.
MapFile map_of(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values, LayerAxis axis);

// counts: [steps][rows][cells], flat. One step where the file has a sum over a run.
struct CountsFile {
  LayerAxis axis = LayerAxis::unsaid;
  ExpertIds ids = ExpertIds::logical;
  std::vector<std::int64_t> layers;  // keyed: absolute layer of each row
  std::int64_t steps = 0, rows = 0, cells = 0;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> step_ids;  // the writer's number of each step (forward pass, iteration); may be empty
  // The map in force at the last step, where the file has it: [rows][cells] logical experts. Empty else.
  std::vector<std::int64_t> physical_to_logical;
  std::optional<std::int64_t> experts, top_k;  // where the file says
  std::optional<std::int64_t> rank;            // whose counts these are, where the file has one rank's only
};

// Values of shape [rows][cells], one step, or [steps][rows][cells].
CountsFile counts_of(const std::vector<std::int64_t>& shape, std::vector<std::int64_t> values, LayerAxis axis,
                     ExpertIds ids);

// ids: [tokens][rows][top_k], flat; -1 where a token chose fewer. Logical experts unless `ids_of` says otherwise.
struct RoutingFile {
  struct Span {  // tokens of one request, or of one forward pass
    std::string id;
    std::int64_t offset = 0, tokens = 0;
    std::int64_t prompt_tokens = 0;  // 0 = not said
    bool warmup = false;
  };
  LayerAxis axis = LayerAxis::unsaid;
  ExpertIds ids_of = ExpertIds::logical;
  std::vector<std::int64_t> layers;  // keyed
  std::int64_t tokens = 0, rows = 0, top_k = 0;
  std::vector<std::int32_t> ids;
  std::vector<Span> spans;
  bool passes = false;  // spans are forward passes (all tokens of a step), not requests
  // Of physical ids: the map in force at the last token, [rows][cells] logical experts. Empty else.
  std::int64_t cells = 0;
  std::vector<std::int64_t> physical_to_logical;
  std::optional<std::int64_t> rank;  // whose tokens these are, where the file has one rank's only
};

// No table has more cells; far above what recorders keep, and it still fits a machine that plans.
inline constexpr std::int64_t kMaxTableCells = std::int64_t{1} << 29;

}  // namespace afore::wire
