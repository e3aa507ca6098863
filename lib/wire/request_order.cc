#include "wire/request_order.h"

namespace afore::wire {

RequestRecord RequestOrder::check(ObjectReader& record, RequestRecord request) const {
  if (ids_.contains(request.id)) record.find("id").fail("a request before has the id " + in_quotes(request.id));
  if (request.arrival_ns < last_arrival_ns_)
    record.find("arrival_ns")
        .fail("the request arrives at " + std::to_string(request.arrival_ns) + " ns, the one before it at " +
                  std::to_string(last_arrival_ns_),
              "requests stand in the order of their arrival");
  const auto rows = rows_.find(request.sequence);
  if (rows == rows_.end())
    record.find("sequence")
        .fail("no sequence before has the id " + in_quotes(request.sequence),
              "a sequence record stands before the first request that names it");
  if (request.offset >= rows->second)
    record.find("offset").fail("offset " + std::to_string(request.offset) + " is not below the sequence's " +
                               std::to_string(rows->second) + " tokens");
  return request;
}

SequenceRecord RequestOrder::check(ObjectReader& record, SequenceRecord sequence) const {
  if (rows_.contains(sequence.id)) record.find("id").fail("a sequence before has the id " + in_quotes(sequence.id));
  return sequence;
}

void RequestOrder::accept(const RequestRecord& request) {
  ids_.insert(request.id);
  last_arrival_ns_ = request.arrival_ns;
}

}  // namespace afore::wire
