#include <nlohmann/json.hpp>

#include "util/error.h"
#include "wire/decode.h"
#include "wire/header_fields.h"
#include "wire/json_tree.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string extend_header(std::string_view line, const Header& gained, const std::string& via) {
  JsonTree tree;
  bool has_seed = false;
  ObjectReader reader(tree.parse(line, "header"));
  const Header present = decode_header(reader, &has_seed);

  // A seed of 0 in `gained` is the default of a tool that has none.
  const std::vector<HeaderField> wanted = header_fields(gained, gained.seed != 0);
  const std::vector<HeaderConflict> conflicts = header_conflicts(header_fields(present, has_seed), wanted);
  if (!conflicts.empty())
    throw Error(ErrorKind::usage,
                "the stream's header says " + conflicts[0].a.path.substr(1) + " = " + conflicts[0].a.json + ", not " +
                    conflicts[0].b.json,
                "leave the flag out, or make the stream anew with the other value");

  ModelSpec model = present.model;
  fill_absent(model, gained.model);
  if (const std::string fault = model_fault(model); !fault.empty())
    throw Error(ErrorKind::usage, "with the stream's header, " + fault);

  Json header = Json::parse(line);
  for (const HeaderField& field : wanted) {
    const Json::json_pointer path(field.path);
    if (!header.contains(path)) header[path] = Json::parse(field.json);
  }
  if (!header.contains("producer") && !gained.producer.empty()) header["producer"] = gained.producer;
  header["via"].push_back(via);
  return header.dump();
}

std::string without_planner(std::string_view line) {
  JsonTree().parse(line, "header");  // strict: Json alone would take what no reader takes
  Json header = Json::parse(line);
  header.erase("planner");
  return header.dump();
}

}  // namespace afore::wire
