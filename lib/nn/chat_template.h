#pragma once
// A model's chat template: how messages become the text of a prompt. Templates are Jinja, as Hugging Face's checkpoints
// have them and transformers sets jinja2 up for them; what this reader does not know is refused by name and line when
// the template is loaded. A template sees messages, each a mapping of role and content, add_generation_prompt,
// bos_token and eos_token (undefined where empty), and tools and documents as none, as transformers gives them.
// strftime_now is undefined: the same messages give the same prompt on any day.
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace afore::nn {

struct ChatMessage {
  std::string role;
  std::string content;
};

class ChatTemplate {
 public:
  // FOLDER/chat_template.jinja, or chat_template in FOLDER/tokenizer_config.json; nothing where there is neither.
  // Error{io}, Error{data}.
  static std::optional<ChatTemplate> load(const std::filesystem::path& folder);
  // `bos_token` and `eos_token`: as templates name them. `source_name` is for messages.
  ChatTemplate(std::string_view text, std::string bos_token, std::string eos_token, const std::string& source_name);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // Error{data} with the template's own words where it refuses the messages (raise_exception), and when it does not end
  // within bounds of steps and output. Thread-safe.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::nn
