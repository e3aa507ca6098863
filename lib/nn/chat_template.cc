#include "nn/chat_template.h"

#include <fmt/format.h>

#include "nn/jinja/evaluator.h"
#include "nn/json.h"
#include "nn/mapped_file.h"
#include "nn/utf8.h"
#include "util/error.h"

namespace afore::nn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTemplateBytes = 1u << 20;

// Broken parts become U+FFFD: the interpreter counts on UTF-8.
std::string as_utf8(std::string_view text) {
  if (utf8_prefix(text) == text.size()) return std::string(text);
  std::string held(text), whole;
  take_text(held, true, whole);
  return whole;
}

jinja::Value text_value(std::string_view text) { return std::make_shared<const std::string>(as_utf8(text)); }

// bos_token and the like: its text, or an object with it as `content`, or nothing.
std::string special_token(const JsonView& config, std::string_view key) {
  const JsonView token = config.find(key);
  if (!token) return "";
  return (token.is_object() ? token.at("content") : token).string();
}

// A string, or a list of named templates of which "default" is taken.
std::string configured_template(const JsonView& templates) {
  if (!templates.is_array()) return templates.string();
  for (std::size_t i = 0; i < templates.size(); ++i)
    if (templates.item(i).at("name").string() == "default") return templates.item(i).at("template").string();
  templates.fail("none of the chat templates is named \"default\"");
}

}  // namespace

struct ChatTemplate::Impl {
  std::string source;
  jinja::Program program;
  jinja::Value bos, eos;
  jinja::Value role = text_value("role"), content = text_value("content");
};

std::optional<ChatTemplate> ChatTemplate::load(const fs::path& folder) {
  const fs::path config_path = folder / "tokenizer_config.json", template_path = folder / "chat_template.jinja";
  std::string bos, eos, text, source;
  bool found = false;
  if (fs::exists(config_path)) {
    const MappedFile file(config_path);
    const Json tree = parse_json(file.text(), file.name());
    const JsonView config(tree, file.name());
    bos = special_token(config, "bos_token");
    eos = special_token(config, "eos_token");
    source = file.name() + ": chat_template";
    // What stands in a file of its own beats it.
    if (const JsonView templates = config.find("chat_template"); templates && !fs::exists(template_path)) {
      text = configured_template(templates);
      found = true;
    }
  }
  if (fs::exists(template_path)) {
    const MappedFile file(template_path);
    text = file.text();
    source = file.name();
    found = true;
  }
  if (!found) return std::nullopt;
  return ChatTemplate(text, std::move(bos), std::move(eos), source);
}

ChatTemplate::ChatTemplate(std::string_view text, std::string bos_token, std::string eos_token,
                           const std::string& source_name)
    : impl_(std::make_unique<Impl>()) {
  if (text.size() > kMaxTemplateBytes)
    throw Error(ErrorKind::data,
                fmt::format("{}: a chat template longer than {} KiB", source_name, kMaxTemplateBytes >> 10));
  impl_->source = source_name;
  impl_->program = jinja::parse(as_utf8(text), source_name);
  // transformers hands over only the tokens that a tokenizer has.
  if (!bos_token.empty()) impl_->bos = text_value(bos_token);
  if (!eos_token.empty()) impl_->eos = text_value(eos_token);
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(std::span<const ChatMessage> messages, bool add_generation_prompt) const {
  jinja::Run bounds(impl_->source);
  std::vector<jinja::Value> list;
  for (const ChatMessage& message : messages)
    list.push_back(
        bounds.mapping({{impl_->role, text_value(message.role)}, {impl_->content, text_value(message.content)}}));
  // As transformers names them: what a request does not have is none, not undefined.
  jinja::Variables variables{{"messages", bounds.list(std::move(list))},
                             {"tools", jinja::None{}},
                             {"documents", jinja::None{}},
                             {"add_generation_prompt", add_generation_prompt}};
  if (!jinja::is_undefined(impl_->bos)) variables.emplace_back("bos_token", impl_->bos);
  if (!jinja::is_undefined(impl_->eos)) variables.emplace_back("eos_token", impl_->eos);
  return jinja::render(impl_->program, impl_->source, variables);
}

}  // namespace afore::nn
