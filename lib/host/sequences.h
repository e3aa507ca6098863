#pragma once
// The open requests of a model that really runs: their tokens so far, their pages of the cache, and their text as it
// grows. By the batcher's slot.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batch/serving.h"
#include "core/records.h"
#include "device/step.h"
#include "host/prompt.h"
#include "host/serving_loop.h"
#include "nn/tokenizer.h"

namespace afore::host {

// Text of a request as it is certain: what may yet turn out to begin a stop string is held back. Called once for every
// token after which the request may go on, with the text that is new, which may be empty, and how many tokens it has
// sampled; and once more when it has ended, with `last` set, unless it was cancelled.
using TextSink = std::function<void(const std::string& id, std::string_view text, std::int64_t tokens, bool last)>;

class Sequences {
 public:
  static constexpr int kAllWorkers = -1;

  // `tokenizer` outlives it; `eos` are the ids that end a request. `text` may be empty.
  Sequences(const nn::Tokenizer& tokenizer, std::vector<int> eos, TextSink text);

  void admit(int slot, const IncomingRequest& request);
  // Before that the pages go back to their cache.
  void close(int slot);
  std::vector<std::int32_t>& pages(int slot) { return open_[slot].pages; }

  // Sets up one attention worker's part of a composed step; of kAllWorkers everything.
  void fill(const batch::ServingStep& composed, int attention_worker, device::Step& step);
  // The tokens that it sampled, each to the request of its slice.
  void take(const device::Step& step);

  bool open(int slot) const { return static_cast<std::size_t>(slot) < open_.size() && open_[slot].prompt; }
  bool ended(int slot) const { return open_[slot].ended; }  // by its last token
  bool early(int slot) const;                               // and it could have had more
  const std::string& id(int slot) const { return open_[slot].id; }
  int attention_worker(int slot) const { return open_[slot].attention_worker; }
  void answer(int slot, Completion& completion);

 private:
  struct Open {
    std::string id;
    std::shared_ptr<const Prompt> prompt;
    std::vector<int> tokens;      // prompt, then sampled
    std::size_t most_tokens = 0;  // with the output that it may have
    std::vector<std::int32_t> pages;
    int attention_worker = -1;
    std::unique_ptr<nn::TokenStream> decoder;
    std::string text;
    std::size_t told = 0;  // bytes of text that the sink has
    bool ended = false, closed = false;
  };
  void take(Open& request, int token);
  void tell(Open& request, bool last);
  std::size_t held_back(const Open& request) const;

  const nn::Tokenizer& tokenizer_;
  std::vector<int> eos_;
  TextSink text_;
  std::deque<Open> open_;  // workers hold on to pages while others come
};

}  // namespace afore::host
