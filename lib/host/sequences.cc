#include "host/sequences.h"

#include <algorithm>

#include "util/error.h"

namespace afore::host {

Sequences::Sequences(const nn::Tokenizer& tokenizer, std::vector<int> eos, TextSink text)
    : tokenizer_(tokenizer), eos_(std::move(eos)), text_(std::move(text)) {}

void Sequences::admit(int slot, const IncomingRequest& request) {
  if (open_.size() <= static_cast<std::size_t>(slot)) open_.resize(slot + 1);
  Open& mine = open_[slot];
  mine = {};
  mine.id = request.record.id;
  mine.prompt = request.prompt;
  mine.tokens = request.prompt->token_ids;
  mine.most_tokens = mine.tokens.size() + static_cast<std::size_t>(request.record.output_tokens);
  mine.decoder = std::make_unique<nn::TokenStream>(tokenizer_);
}

bool Sequences::early(int slot) const {
  return open_[slot].ended && open_[slot].tokens.size() < open_[slot].most_tokens;
}

void Sequences::close(int slot) {
  AFORE_CHECK(open_[slot].pages.empty(), "a request is closed that still has pages");
  open_[slot] = {};
}

void Sequences::fill(const batch::ServingStep& composed, int attention_worker, device::Step& step) {
  step.slices.clear();
  step.token_ids.clear();
  step.slots.clear();
  for (const batch::Chunk& chunk : composed.chunks) {
    if (attention_worker != kAllWorkers && chunk.attention_worker != attention_worker) continue;
    Open& mine = open_[chunk.slot];
    mine.attention_worker = std::max(attention_worker, 0);
    const Prompt& prompt = *mine.prompt;
    step.slots.push_back(chunk.slot);
    step.slices.push_back({&mine.pages,
                           chunk.first,
                           chunk.tokens,
                           chunk.samples,
                           {prompt.temperature, prompt.top_p, prompt.seed},
                           mine.tokens.size() - prompt.token_ids.size()});
    step.token_ids.insert(step.token_ids.end(), mine.tokens.begin() + chunk.first,
                          mine.tokens.begin() + chunk.first + chunk.tokens);
  }
}

void Sequences::take(const device::Step& step) {
  for (std::size_t s = 0; s < step.slices.size(); ++s)
    if (step.slices[s].samples) take(open_[step.slots[s]], step.sampled[s]);
}

// Of text that is not certain yet, at most as long as a stop string less its last byte.
std::size_t Sequences::held_back(const Open& request) const {
  std::size_t longest = 1;
  for (const std::string& stop : request.prompt->stop) longest = std::max(longest, stop.size());
  return longest - 1;
}

void Sequences::take(Open& request, int token) {
  request.tokens.push_back(token);
  const Prompt& prompt = *request.prompt;
  if (!prompt.ignore_eos && std::find(eos_.begin(), eos_.end(), token) != eos_.end()) {
    request.text += request.decoder->finish();
    request.ended = true;
    return;
  }
  const std::size_t before = request.text.size();
  request.text += request.decoder->push(token);
  const std::size_t look_from = before - std::min(before, held_back(request));
  std::size_t end = std::string::npos;
  for (const std::string& stop : prompt.stop) end = std::min(end, request.text.find(stop, look_from));
  if (end != std::string::npos) {
    request.text.resize(end);
    request.ended = true;
    return;
  }
  tell(request, false);
}

void Sequences::tell(Open& request, bool last) {
  if (!text_) return;
  const std::size_t size = request.text.size();
  std::size_t certain = last ? size : size - std::min(size, held_back(request));
  // Not in the middle of a code point.
  while (certain > request.told && certain < size && (static_cast<unsigned char>(request.text[certain]) & 0xC0) == 0x80)
    --certain;
  certain = std::max(certain, request.told);
  text_(request.id, std::string_view(request.text).substr(request.told, certain - request.told),
        std::ssize(request.tokens) - std::ssize(request.prompt->token_ids), last);
  request.told = certain;
}

void Sequences::answer(int slot, Completion& completion) {
  if (!open(slot)) return;  // it never ran
  Open& mine = open_[slot];
  if (!mine.ended) mine.text += mine.decoder->finish();
  const auto sampled = mine.tokens.begin() + static_cast<std::int64_t>(mine.prompt->token_ids.size());
  completion.token_ids.assign(sampled, mine.tokens.end());
  tell(mine, true);
  completion.text = std::move(mine.text);
}

}  // namespace afore::host
