#pragma once
// Files of other systems, read and recognised: `afore-trace import --from` and `afore-plan check`.
#include <string>
#include <variant>
#include <vector>

#include "import.h"
#include "wire/foreign/tables.h"

namespace afore::cli {

using ForeignTable = std::variant<wire::MapFile, wire::CountsFile, wire::RoutingFile>;

// The formats of --from that this reads.
const std::vector<std::string>& foreign_formats();

// Error{usage} when `given`: the flag does not go with what the input file turned out to have.
void refuse_for_file(bool given, const char* flag, const ImportOptions& options, const char* what);

// All inputs of options.from as one table: files of several ranks are summed. Physical ids are logical afterwards, by
// the file's own map or --map; the axis is the file's or --layer-axis. `model`: what flags say, where a file needs a
// shape. Error{usage} asks for what a file leaves open.
ForeignTable load_foreign(const ImportOptions& options, const ModelSpec& model);

}  // namespace afore::cli
