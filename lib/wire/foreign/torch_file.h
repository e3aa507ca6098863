#pragma once
// What torch.save wrote (PyTorch 1.6 and later): a zip with ROOT/data.pkl, one entry ROOT/data/KEY per storage, and in
// later versions ROOT/byteorder (pytorch/pytorch, torch/serialization.py, _save and _load). Read as data; see pickle.h.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wire/foreign/pickle.h"

namespace afore::wire {

struct IntegerTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;  // row-major
};

class TorchFile {
 public:
  using Storages = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

  // Error{data} "SOURCE: fact" for what is no such file.
  TorchFile(std::vector<std::uint8_t> bytes, const std::string& source);
  // Of its parts, as they stand in the zip.
  TorchFile(std::vector<std::uint8_t> pickle, Storages storages, bool big_endian, const std::string& source);

  PickleView root() const { return {pickle_, pickle_.root(), ""}; }

  // The whole numbers of a tensor of any of the dtypes in elements.h, strides and offset honoured. Error{data} where
  // `view` is no tensor, the tensor leaves its storage, or a number is not whole. All tensors read from one file may
  // have as many elements as the file has bytes, and 2^20 more: what a small file repeats fills no memory.
  IntegerTensor integers(const PickleView& view);
  // The same limit for numbers that stand in lists, which a pickle may repeat as well.
  void spend(const PickleView& view, std::int64_t elements);

 private:
  struct Parts {
    std::vector<std::uint8_t> pickle;
    Storages storages;
    bool big_endian = false;
  };
  static Parts unpack(std::vector<std::uint8_t> bytes, const std::string& source);
  TorchFile(Parts parts, const std::string& source);
  std::int64_t checked_count(const PickleView& view, const PickleTensor& tensor, std::size_t storage_bytes);

  std::int64_t elements_left_;
  Pickle pickle_;
  Storages storages_;
  bool big_endian_;
};

}  // namespace afore::wire
