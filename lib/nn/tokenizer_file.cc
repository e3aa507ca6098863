#include "nn/tokenizer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nn/byte_level.h"
#include "nn/json.h"
#include "nn/split_pattern.h"

namespace afore::nn {
namespace {

// tokenizers, pre_tokenizers/byte_level.rs.
constexpr const char* kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Whether text is composed first; that is all that is computed.
bool read_normalizer(const JsonView& root) {
  const JsonView normalizer = root.find("normalizer");
  if (!normalizer) return false;
  const JsonView type = normalizer.at("type");
  if (type.string() != "NFC") type.fail(type.shown() + " is not computed", "NFC is");
  return true;
}

void read_byte_level(const JsonView& step, std::vector<SplitRule>& splits) {
  const JsonView prefix = step.at("add_prefix_space");
  if (prefix.boolean()) prefix.fail("a space before the text is not computed");
  if (step.find("use_regex").boolean(true)) splits.push_back({to_pcre2(kGpt2Pattern, step), true});
}

void read_split(const JsonView& step, std::vector<SplitRule>& splits) {
  const JsonView pattern = step.at("pattern"), behavior = step.at("behavior");
  const bool invert = step.at("invert").boolean();
  // Isolated cuts out matches and gaps alike, inverted or not. Removing all but the matches is the other common form.
  const bool only_matches = behavior.string() == "Removed" && invert;
  if (behavior.string() != "Isolated" && !only_matches)
    behavior.fail(behavior.shown() + " is not computed", "Isolated is, and Removed with invert");
  SplitRule rule{.pattern = "", .keep_gaps = !only_matches};
  if (const JsonView regex = pattern.find("Regex")) {
    rule.pattern = to_pcre2(regex.string(), regex);
  } else {
    const std::string& text = pattern.at("String").string();
    if (text.empty()) pattern.fail("the text to split at is empty");
    rule.pattern = literal_pattern(text);
  }
  splits.push_back(std::move(rule));
}

// Steps of Split, then ByteLevel, which must be the last: what comes behind it would see characters for bytes.
std::vector<SplitRule> read_pre_tokenizer(const JsonView& root) {
  const JsonView whole = root.at("pre_tokenizer");
  if (whole.is_null()) whole.fail("without ByteLevel it is not computed");
  const bool sequence = whole.at("type").string() == "Sequence";
  const JsonView steps = sequence ? whole.at("pretokenizers") : whole;
  const std::size_t count = sequence ? steps.size() : 1;
  std::vector<SplitRule> splits;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonView step = sequence ? steps.item(i) : whole, type = step.at("type");
    const bool last = i + 1 == count;
    if (type.string() == "ByteLevel" && last) read_byte_level(step, splits);
    else if (type.string() == "Split" && !last) read_split(step, splits);
    else
      type.fail(fmt::format("{} is not computed as step {} of {}", type.shown(), i + 1, count),
                "steps of Split and at last ByteLevel are");
  }
  if (count == 0) whole.fail("without ByteLevel it is not computed");
  return splits;
}

void check_template(const JsonView& processor) {
  const JsonView parts = processor.at("single");
  if (parts.size() != 1 || !parts.item(0).find("Sequence"))
    parts.fail("tokens around the text are not computed", "only a template that adds nothing is");
}

void check_post_processor(const JsonView& processor) {
  const JsonView type = processor.at("type");
  if (type.string() == "ByteLevel") return;  // about offsets in the text, which are not kept
  if (type.string() == "TemplateProcessing") return check_template(processor);
  if (type.string() != "Sequence") type.fail(type.shown() + " is not computed");
  const JsonView steps = processor.at("processors");
  for (std::size_t i = 0; i < steps.size(); ++i) check_post_processor(steps.item(i));
}

void check_decoder(const JsonView& root) {
  const JsonView decoder = root.at("decoder");
  if (decoder.is_null()) decoder.fail("without ByteLevel it is not computed");
  const JsonView type = decoder.at("type");
  if (type.string() != "ByteLevel") type.fail(type.shown() + " is not computed", "ByteLevel is");
}

void check_model(const JsonView& model) {
  const JsonView type = model.find("type");  // older files have none
  if (type && type.string() != "BPE") type.fail(type.shown() + " is not computed", "BPE is");
  const JsonView dropout = model.find("dropout"), fallback = model.find("byte_fallback");
  if (dropout.number(0) != 0) dropout.fail(dropout.shown() + " is not computed");
  if (fallback.boolean(false)) fallback.fail("true is not computed", "only vocabularies of bytes are");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const JsonView affix = model.find(key);
    if (affix && !affix.string().empty()) affix.fail(affix.shown() + " is not computed");
  }
}

using Ids = std::unordered_map<std::string_view, int>;  // of texts in the JSON tree

// The id of a member of "vocab". Views of places are made only for errors: there may be 200,000 members.
int vocabulary_id(const JsonView& vocab, const std::string& text, const Json& value) {
  const auto* const plain = value.get_ptr<const Json::number_unsigned_t*>();
  if (plain != nullptr && *plain < kMaxTokenIds) return static_cast<int>(*plain);
  return static_cast<int>(vocab.at(text).integer(0, kMaxTokenIds - 1));
}

Ids read_vocabulary(const JsonView& model, TokenizerFile& file) {
  const JsonView vocab = model.at("vocab");
  if (!vocab.is_object()) vocab.fail(fmt::format("expected an object, found {}", vocab.shown()));
  const auto& members = vocab.json().get_ref<const Json::object_t&>();
  Ids ids;
  ids.reserve(members.size());
  int size = 0;
  for (const auto& [text, value] : members) {
    const int id = vocabulary_id(vocab, text, value);
    ids.emplace(text, id);
    size = std::max(size, id + 1);
  }
  file.tokens.resize(static_cast<std::size_t>(size));
  file.used.resize(file.tokens.size());
  for (const auto& [text, value] : members) {
    const auto id = static_cast<std::size_t>(ids.at(text));
    if (file.used[id]) vocab.at(text).fail(fmt::format("id {} is another token's, too", id));
    file.used[id] = true;
    std::optional<std::string> bytes = bytes_of_token(text);
    if (bytes && !bytes->empty()) file.pieces.push_back(static_cast<int>(id));
    if (bytes) file.tokens[id] = std::move(*bytes);
    else file.tokens[id] = text;
  }
  return ids;
}

void read_byte_ids(const JsonView& model, const Ids& ids, TokenizerFile& file) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(token_of_byte(static_cast<unsigned char>(byte)));
    if (found == ids.end())
      model.at("vocab").fail(fmt::format("there is no token for byte {}", byte),
                             "only vocabularies with all bytes are computed");
    file.byte_ids[static_cast<std::size_t>(byte)] = found->second;
  }
}

// "LEFT RIGHT", or since tokenizers 0.20 ["LEFT", "RIGHT"].
std::pair<std::string_view, std::string_view> merge_parts(const JsonView& merges, std::size_t i) {
  const Json& merge = merges.json()[i];
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  if (!merge.is_string()) merges.item(i).fail(fmt::format("expected two tokens, found {}", merges.item(i).shown()));
  const std::string_view text = merge.get_ref<const std::string&>();
  const std::size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos)
    merges.item(i).fail(fmt::format("expected two tokens, found {}", quote(text)));
  return {text.substr(0, space), text.substr(space + 1)};
}

void read_merges(const JsonView& model, const Ids& ids, TokenizerFile& file) {
  const JsonView merges = model.at("merges");
  const auto id_of = [&](std::size_t i, std::string_view token) {
    const auto found = ids.find(token);
    if (found == ids.end()) merges.item(i).fail(fmt::format("{} is not in the vocabulary", quote(token)));
    return found->second;
  };
  file.merges.reserve(merges.size());
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const Json& merge = merges.json()[i];
    // The first line of a merges.txt that was taken over.
    if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) continue;
    const auto [left, right] = merge_parts(merges, i);
    joined.assign(left).append(right);
    file.merges.push_back({id_of(i, left), id_of(i, right), id_of(i, joined)});
  }
}

void read_added_token(const JsonView& entry, const Ids& ids, std::unordered_set<std::string_view>& seen,
                      TokenizerFile& file) {
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    if (entry.find(key).boolean(false)) entry.find(key).fail("true is not computed");
  AddedToken token;
  token.content = entry.at("content").string();
  token.id = static_cast<int>(entry.at("id").integer(0, kMaxTokenIds - 1));
  token.special = entry.find("special").boolean(false);
  token.normalized = entry.find("normalized").boolean(!token.special);
  if (token.content.empty()) entry.at("content").fail("the token is empty");
  const auto id = static_cast<std::size_t>(token.id);
  if (file.tokens.size() <= id) {
    file.tokens.resize(id + 1);
    file.used.resize(id + 1);
  }
  const auto known = ids.find(token.content);
  if (known != ids.end() ? known->second != token.id : file.used[id])
    entry.at("id").fail(fmt::format("{} is not the id that the vocabulary gives to {}", id, quote(token.content)));
  if (!seen.insert(entry.at("content").string()).second)
    entry.at("content").fail(quote(token.content) + " is added twice");
  file.used[id] = true;
  // As it is written, whatever its characters would stand for in the vocabulary.
  file.tokens[id] = token.content;
  file.added.push_back(std::move(token));
}

}  // namespace

TokenizerFile read_tokenizer_file(std::string_view json, const std::string& source) {
  const Json tree = parse_json(json, source);
  const JsonView root(tree, source);
  for (const char* key : {"truncation", "padding"})
    if (const JsonView value = root.find(key)) value.fail("anything but null is not computed");
  if (const JsonView processor = root.find("post_processor")) check_post_processor(processor);
  check_decoder(root);
  TokenizerFile file;
  file.nfc = read_normalizer(root);
  file.splits = read_pre_tokenizer(root);
  const JsonView model = root.at("model");
  check_model(model);
  const Ids ids = read_vocabulary(model, file);
  read_byte_ids(model, ids, file);
  read_merges(model, ids, file);
  if (!model.find("ignore_merges").boolean(false)) file.pieces.clear();
  const JsonView added = root.find("added_tokens");
  std::unordered_set<std::string_view> seen;  // views into the JSON tree
  for (std::size_t i = 0; added && i < added.size(); ++i) read_added_token(added.item(i), ids, seen, file);
  return file;
}

}  // namespace afore::nn
