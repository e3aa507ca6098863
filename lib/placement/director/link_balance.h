#pragma once
// Where rows on the link cost time, too: single moves of tiles off the worker that computes longest or receives most,
// until none lowers the largest compute time plus the largest communication time. Rows follow docs/records.md: the
// first replica takes what the others' whole tiles leave.
#include <cstdint>
#include <vector>

#include "placement/director/instance.h"

namespace afore::placement::director {

// `parts`: tiles by replica id, a whole split; improved in place. Returns the objective without c0.
std::int64_t balance_with_link(const Instance& instance, const ReplicaTable& replicas,
                               std::vector<std::int64_t>& parts);

}  // namespace afore::placement::director
