#include "nn/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "nn/json.h"
#include "nn/mapped_file.h"
#include "nn/safetensors.h"
#include "util/error.h"

namespace afore::nn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// A tensor of the checkpoint, or one whose dtype is not computed with: that is an error only for those who ask for it.
struct Entry {
  Tensor tensor;
  std::string foreign_dtype;  // empty = tensor.dtype
};

Entry to_entry(SafetensorsEntry&& found, const MappedFile& file) {
  Entry entry;
  if (found.dtype == "BF16") entry.tensor.dtype = Dtype::bf16;
  else if (found.dtype == "F16") entry.tensor.dtype = Dtype::f16;
  else if (found.dtype == "F32") entry.tensor.dtype = Dtype::f32;
  else entry.foreign_dtype = std::move(found.dtype);
  entry.tensor.name = std::move(found.name);
  entry.tensor.file = file.name();
  entry.tensor.shape = std::move(found.shape);
  entry.tensor.bytes = file.bytes().subspan(found.begin, found.end - found.begin);
  return entry;
}

// The shards of an index and the tensors that it says are in each.
std::map<std::string, std::vector<std::string>> read_index(const fs::path& path) {
  const MappedFile file(path);
  const Json tree = parse_json(file.text(), file.name());
  const JsonView weight_map = JsonView(tree, file.name()).at("weight_map");
  if (!weight_map.is_object()) weight_map.fail(fmt::format("expected an object, found {}", weight_map.shown()));
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [name, value] : weight_map.json().items()) {
    const JsonView shard = weight_map.at(name);
    const std::string& file_name = shard.string();
    // A plain name: an index must not lead out of its folder.
    if (!file_name.ends_with(".safetensors") || file_name.find_first_of(std::string_view("/\0", 2)) != file_name.npos)
      shard.fail(quote(file_name) + " is no name of a shard");
    shards[file_name].push_back(name);
  }
  return shards;
}

}  // namespace

struct Checkpoint::Impl {
  std::string folder;
  std::vector<MappedFile> files;
  std::unordered_map<std::string, Entry> tensors;

  void open_single(const fs::path& path) {
    const MappedFile& file = files.emplace_back(path);
    for (SafetensorsEntry& found : read_safetensors_header(file.bytes(), file.name())) {
      Entry entry = to_entry(std::move(found), file);
      tensors.emplace(entry.tensor.name, std::move(entry));
    }
  }

  // What a shard holds besides what the index says it holds is left out: the index decides.
  void open_shard(const fs::path& path, const std::vector<std::string>& names, const std::string& index) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      throw Error(ErrorKind::io, "cannot open " + path.string() + ": No such file or directory",
                  fmt::format("{} names it", index));
    const MappedFile& file = files.emplace_back(path);
    std::unordered_map<std::string, Entry> here;
    for (SafetensorsEntry& found : read_safetensors_header(file.bytes(), file.name())) {
      Entry entry = to_entry(std::move(found), file);
      here.emplace(entry.tensor.name, std::move(entry));
    }
    for (const std::string& name : names) {
      auto found = here.extract(name);
      if (found.empty())
        throw Error(ErrorKind::data, fmt::format("{}: tensor {} is missing", file.name(), quote(name)),
                    fmt::format("{} says that it is there", index));
      tensors.insert(std::move(found));
    }
  }
};

std::int64_t Tensor::count() const {
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) total *= extent;
  return total;
}

Checkpoint::Checkpoint(const fs::path& folder) : impl_(std::make_unique<Impl>()) {
  impl_->folder = folder.string();
  std::error_code ignored;
  if (fs::exists(folder / kSingle, ignored)) {
    impl_->open_single(folder / kSingle);
    return;
  }
  const fs::path index = folder / kIndex;
  if (!fs::exists(index, ignored))
    throw Error(ErrorKind::io, fmt::format("{}: neither {} nor {} is there", impl_->folder, kSingle, kIndex));
  const auto shards = read_index(index);
  impl_->files.reserve(shards.size());
  for (const auto& [name, tensors] : shards) impl_->open_shard(folder / name, tensors, index.string());
}

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

const Tensor* Checkpoint::find(const std::string& name) const {
  const auto found = impl_->tensors.find(name);
  if (found == impl_->tensors.end()) return nullptr;
  const Entry& entry = found->second;
  if (!entry.foreign_dtype.empty())
    throw Error(ErrorKind::data,
                fmt::format("{}: tensor {}: dtype {} is none of BF16, F16 and F32", entry.tensor.file, quote(name),
                            entry.foreign_dtype),
                "quantized checkpoints are not computed; use one with 16 or 32 bit weights");
  return &entry.tensor;
}

const Tensor& Checkpoint::at(const std::string& name, std::span<const std::int64_t> shape) const {
  const Tensor* tensor = find(name);
  if (tensor == nullptr)
    throw Error(ErrorKind::data, fmt::format("{}: tensor {} is missing", impl_->folder, quote(name)));
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end()))
    throw Error(ErrorKind::data, fmt::format("{}: tensor {}: shape {}, by config.json it is {}", tensor->file,
                                             quote(name), tensor->shape, shape));
  return *tensor;
}

}  // namespace afore::nn
