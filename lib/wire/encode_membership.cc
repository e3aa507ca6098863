#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::wire {

std::string to_json(const Membership& membership) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "membership");
  json.integer("at_ns", membership.at_ns);
  json.integer("epoch", membership.epoch);
  json.integers("lost_workers", membership.lost_workers);
  json.integer("redone_targets", membership.redone_targets);
  json.integer("abandoned_copies", membership.abandoned_copies);
  json.key("reloads");
  json.open('[');
  for (const Membership::Reload& reload : membership.reloads) {
    json.separate();
    json.items(std::vector<int>{reload.layer, reload.expert, reload.worker, reload.slot});
  }
  json.close(']');
  json.integer("reload_ns", membership.reload_ns);
  json.close('}');
  return out;
}

}  // namespace afore::wire
