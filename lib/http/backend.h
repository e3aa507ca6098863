#pragma once
// What the endpoint needs of the model behind it. Functions are thread-safe and return at once, unless they say
// otherwise.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/records.h"
#include "host/prompt.h"
#include "host/request_source.h"
#include "nn/chat_template.h"
#include "nn/tokenizer.h"

namespace afore::http {

struct ModelCard {
  std::string id;                  // as clients name it
  std::int64_t created_s = 0;      // Unix time
  std::int64_t max_model_len = 0;  // prompt and output tokens that a request may have
};

// What becomes of one accepted request. Called on the model's thread, so it must not block.
class Listener {
 public:
  virtual ~Listener() = default;
  // Once for every token sampled: the text that is certain since the last call, which may be empty, and how many tokens
  // there are.
  virtual void on_token(std::string_view text, std::int64_t tokens) = 0;
  // The last call, unless the request was cancelled. Text that was not told yet is `completion.text` behind what was.
  virtual void on_end(const Completion& completion) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const ModelCard& model() const = 0;
  virtual const nn::Tokenizer& tokenizer() const = 0;
  virtual const nn::ChatTemplate* chat_template() const = 0;  // nullptr: the model has none

  // `id` is unique. The prompt with `max_tokens` fits max_model_len.
  virtual host::Submission submit(const std::string& id, host::Prompt prompt, std::int64_t max_tokens,
                                  std::shared_ptr<Listener> listener) = 0;
  // The client is gone: the listener hears nothing more when this returns. Unknown ids are ignored.
  virtual void cancel(const std::string& id) = 0;

  virtual std::string not_ready() const = 0;  // why no request should be sent here; empty: ready
  virtual std::string metrics() = 0;          // in Prometheus' text format
  virtual std::string placement() = 0;        // what stands in every layer: a JSON text

  virtual void set_frozen(bool frozen) = 0;                // no expert moves while it is
  virtual void set_policy(const std::string& policy) = 0;  // Error{usage} when there is none of that name

  // Live records: whole lines, the header first, then what stands, then what happens. `sink` is called on the model's
  // thread, must not block, and is called until it returns false. nullptr: the stream is over.
  using LineSink = std::function<bool(std::shared_ptr<const std::string> lines)>;
  virtual void subscribe(LineSink sink) = 0;
};

}  // namespace afore::http
