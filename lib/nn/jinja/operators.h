#pragma once
// Python's operators on values, and how attributes, items and slices are found.
#include <string_view>

#include "nn/jinja/run.h"

namespace afore::nn::jinja {

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power };
Value compute(Run& run, Operator op, const Value& a, const Value& b);
Value negate(Run& run, const Value& value);

enum class Comparison { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };
bool compare(Run& run, Comparison op, const Value& a, const Value& b);
bool equal(Run& run, const Value& a, const Value& b);
bool is_less(Run& run, const Value& a, const Value& b);  // Error{data} for what has no order
bool contains(Run& run, const Value& container, const Value& item);

// value[key], where value is not undefined and key no slice; undefined where there is none. `name`: of what is missing.
Value item_of(Run& run, const Value& value, const Value& key, int name = -1);
const Value* member_of(Run& run, const Mapping& mapping, const Value& key);  // null where there is none
Value slice(Run& run, const Value& value, const Value& start, const Value& stop, const Value& step);

// What `for` goes through: items, keys, characters. Error{data} for what is none of these.
std::vector<Value> iterate(Run& run, const Value& value);

// As a key of a mapping: Error{data} for lists and mappings.
void check_key(Run& run, const Value& key);
void insert(Run& run, std::vector<std::pair<Value, Value>>& members, Value key, Value value);

}  // namespace afore::nn::jinja
