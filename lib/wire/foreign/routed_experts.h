#pragma once
// What a server returns for one request when asked which experts its tokens chose. A line of JSON per response:
//  - SGLang (--enable-return-routed-experts): base64 of flat int32 [tokens, layers, top_k] in meta_info.routed_experts
//  of
//    /generate, in sgl_ext.routed_experts or choices[].sgl_ext of the OpenAI routes; all hidden layers, and no shape.
//  - vLLM (enable_return_routed_experts): base64 of an .npy in choices[].routed_experts or routed_experts, or its
//  nested
//    array; [tokens, MoE layers, top_k].
// Ids are logical. A response has one token less than its sequence: the last sampled one was never computed.
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/foreign/tables.h"

namespace afore::wire {

// What the flat form does not say; 0 = not given.
struct RoutedShape {
  std::int64_t layers = 0, top_k = 0;
};

class RoutedExperts {
 public:
  RoutedExperts(std::string source, RoutedShape shape) : source_(std::move(source)), shape_(shape) {}

  // Error{data}; Error{usage} where the shape of flat data was not given.
  void read_line(std::string_view line, std::int64_t line_number);
  // One request as an .npy file [tokens, MoE layers, top_k].
  void add_npy(std::vector<std::uint8_t> bytes, const std::string& name);
  RoutingFile finish();  // Error{data}: there were none

 private:
  void add(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values, LayerAxis axis,
           const std::string& id, std::int64_t prompt_tokens, const std::string& place);

  std::string source_;
  RoutedShape shape_;
  RoutingFile file_;
};

}  // namespace afore::wire
