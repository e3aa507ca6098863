#pragma once
// What one request line alone cannot show: its sequence stands before it, ids are unique, arrivals do not fall. Keeps
// every id: some 70 bytes a request.
#include <map>
#include <string>
#include <unordered_set>

#include "core/records.h"
#include "wire/json_tree.h"

namespace afore::wire {

class RequestOrder {
 public:
  // Fails at `record`; nothing is kept.
  RequestRecord check(ObjectReader& record, RequestRecord request) const;
  SequenceRecord check(ObjectReader& record, SequenceRecord sequence) const;
  // After the whole line was found good.
  void accept(const RequestRecord& request);
  void accept(const SequenceRecord& sequence) { rows_.emplace(sequence.id, sequence.tokens); }

 private:
  std::map<std::string, std::int64_t> rows_;  // of each sequence
  std::unordered_set<std::string> ids_;
  Nanos last_arrival_ns_ = 0;
};

}  // namespace afore::wire
