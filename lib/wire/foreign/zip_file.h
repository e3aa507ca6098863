#pragma once
// The entries of a zip archive in memory, by name (PKWARE APPNOTE 6.3.10, read with libzip). Only what cannot swell is
// read: entries that are stored as they are, as torch.save does, whose sizes sum to no more than the file has.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct zip;

namespace afore::wire {

inline constexpr std::uint64_t kMaxZipBytes = std::uint64_t{1} << 32;  // of all entries together
inline constexpr std::int64_t kMaxZipEntries = std::int64_t{1} << 18;  // a dump has one or two for each forward pass

class ZipFile {
 public:
  // Owns the bytes. Error{data} "SOURCE: fact" for what is no zip, is cut off or contradicts itself; for an entry that
  // is encrypted or compressed, a name twice, and more than the limits above.
  ZipFile(std::vector<std::uint8_t> bytes, std::string source);

  const std::vector<std::string>& names() const { return names_; }  // in the order of the directory
  bool has(std::string_view name) const { return find(name) < names_.size(); }
  // The bytes of an entry, its CRC checked. Error{data} where it is absent or damaged.
  std::vector<std::uint8_t> read(std::string_view name) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };

  void read_directory();
  std::size_t find(std::string_view name) const;
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const;

  std::vector<std::uint8_t> bytes_;
  std::string source_;
  std::unique_ptr<zip, Close> archive_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::size_t> sorted_;  // entries by name
};

}  // namespace afore::wire
