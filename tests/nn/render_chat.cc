// Renders chat templates for chat_template_differential.py: a JSON object a line with template, messages,
// add_generation_prompt, bos_token and eos_token; one out for each, with text or error.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "nn/chat_template.h"
#include "util/error.h"

int main() {
  using nlohmann::json;
  std::string line;
  while (std::getline(std::cin, line)) {
    const json in = json::parse(line);
    std::vector<afore::nn::ChatMessage> messages;
    for (const json& message : in["messages"]) messages.push_back({message["role"], message["content"]});
    json out;
    try {
      const afore::nn::ChatTemplate chat(in["template"].get<std::string>(), in["bos_token"], in["eos_token"], "t");
      out["text"] = chat.render(messages, in["add_generation_prompt"]);
    } catch (const afore::Error& error) {
      out["error"] = error.what();
    }
    std::puts(out.dump().c_str());
  }
}
