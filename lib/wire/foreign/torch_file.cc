#include "wire/foreign/torch_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "wire/foreign/fail_in.h"
#include "wire/foreign/zip_file.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kFreeElements = std::int64_t{1} << 20;

bool is_big_endian(const ZipFile& zip, const std::string& root, const std::string& source) {
  // Without the entry torch takes the numbers as the machine's own, and machines that serve are little-endian.
  if (!zip.has(root + "byteorder")) return false;
  const std::vector<std::uint8_t> order = zip.read(root + "byteorder");
  const std::string_view text(reinterpret_cast<const char*>(order.data()), order.size());
  if (text != "little" && text != "big")
    fail_in(source, "byteorder is " + in_quotes(text) + ", neither little nor big");
  return text == "big";
}

}  // namespace

TorchFile::Parts TorchFile::unpack(std::vector<std::uint8_t> bytes, const std::string& source) {
  if (bytes.size() >= 2 && bytes[0] == 0x80 && bytes[1] <= 5)
    fail_in(source, "is a pickle without a zip around it, as torch.save wrote before PyTorch 1.6",
            "write it again with torch.save(..., _use_new_zipfile_serialization=True)");
  const ZipFile zip(std::move(bytes), source);
  if (zip.names().empty()) fail_in(source, "the zip is empty");
  const std::string& first = zip.names()[0];
  const std::string root = first.substr(0, first.find('/') == std::string::npos ? 0 : first.find('/') + 1);
  if (!zip.has(root + "data.pkl")) fail_in(source, "is a zip without data.pkl: not of torch.save");
  if (zip.has(root + "constants.pkl"))
    fail_in(source, "is a TorchScript program, not a file of torch.save", "save the tensors with torch.save");
  Parts parts;
  parts.big_endian = is_big_endian(zip, root, source);
  const std::string data = root + "data/";
  for (const std::string& name : zip.names())
    if (name.starts_with(data)) parts.storages.emplace(name.substr(data.size()), zip.read(name));
  parts.pickle = zip.read(root + "data.pkl");
  return parts;
}

TorchFile::TorchFile(std::vector<std::uint8_t> bytes, const std::string& source)
    : TorchFile(unpack(std::move(bytes), source), source) {}

TorchFile::TorchFile(Parts parts, const std::string& source)
    : TorchFile(std::move(parts.pickle), std::move(parts.storages), parts.big_endian, source) {}

TorchFile::TorchFile(std::vector<std::uint8_t> pickle, Storages storages, bool big_endian, const std::string& source)
    : elements_left_(kFreeElements + static_cast<std::int64_t>(pickle.size())),
      pickle_(std::move(pickle), source),
      storages_(std::move(storages)),
      big_endian_(big_endian) {
  for (const auto& [key, storage] : storages_) elements_left_ += static_cast<std::int64_t>(storage.size());
}

// The number of elements, all of which stand in the storage.
std::int64_t TorchFile::checked_count(const PickleView& view, const PickleTensor& tensor, std::size_t storage_bytes) {
  const auto storage_elements = static_cast<std::int64_t>(storage_bytes / bytes_of(tensor.element));
  if (tensor.storage_elements > storage_elements)
    view.fail(fmt::format("its storage has {} bytes, too few for {} of {}", storage_bytes, tensor.storage_elements,
                          name_of(tensor.element)),
              "was the file cut off?");
  std::int64_t count = 1, last = tensor.offset;
  for (const std::int64_t extent : tensor.shape)
    if (extent == 0) return 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(count, tensor.shape[i], &count) ||
        __builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      view.fail(fmt::format("the shape {} with strides {} is too large", tensor.shape, tensor.strides));
  }
  if (last >= tensor.storage_elements)
    view.fail(fmt::format("its last element is number {} of a storage of {}", last, tensor.storage_elements));
  spend(view, count);
  return count;
}

void TorchFile::spend(const PickleView& view, std::int64_t elements) {
  if (elements > elements_left_)
    view.fail("the file repeats its numbers: there are more than it has bytes",
              "save tensors with .contiguous().clone(), each once");
  elements_left_ -= elements;
}

IntegerTensor TorchFile::integers(const PickleView& view) {
  const PickleTensor& tensor = view.tensor();
  const auto storage = storages_.find(tensor.storage);
  if (storage == storages_.end()) view.fail("there is no storage data/" + in_quotes(tensor.storage));
  const std::int64_t count = checked_count(view, tensor, storage->second.size());
  IntegerTensor out{tensor.shape, {}};
  out.values.resize(static_cast<std::size_t>(count));
  const std::size_t element_bytes = bytes_of(tensor.element);
  std::array<std::int64_t, 8> index{}, strides{};
  for (std::size_t d = 0; d < tensor.shape.size(); ++d)
    strides[d] = tensor.shape[d] == 1 ? 0 : tensor.strides[d];  // of one element it may be anything
  std::int64_t at = tensor.offset;
  for (std::int64_t& value : out.values) {
    const std::optional<std::int64_t> number = whole_number(
        storage->second.data() + static_cast<std::size_t>(at) * element_bytes, tensor.element, big_endian_);
    if (!number) view.fail(fmt::format("element {} is no whole number", &value - out.values.data()));
    value = *number;
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {  // to the next element, the last dimension first
      at += strides[d];
      if (++index[d] < tensor.shape[d]) break;
      at -= tensor.shape[d] * strides[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace afore::wire
