#include "wire/foreign/zip_file.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "util/error.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

std::string text_of(zip_error_t& error) {
  if (zip_error_code_zip(&error) == ZIP_ER_MEMORY) throw std::bad_alloc();
  std::string text = zip_error_strerror(&error);
  std::replace(text.begin(), text.end(), '\n', ' ');
  zip_error_fini(&error);
  return text;
}

}  // namespace

void ZipFile::Close::operator()(zip* archive) const { zip_discard(archive); }

void ZipFile::fail(const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, source_ + ": " + fact, hint);
}

ZipFile::ZipFile(std::vector<std::uint8_t> bytes, std::string source)
    : bytes_(std::move(bytes)), source_(std::move(source)) {
  if (bytes_.size() < 4 || std::memcmp(bytes_.data(), "PK", 2) != 0) fail("is no zip archive");
  if (bytes_.size() > kMaxZipBytes)
    fail(fmt::format("has {} bytes, more than the {} read", bytes_.size(), kMaxZipBytes));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source_bytes = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
  if (source_bytes == nullptr) fail(text_of(error));
  archive_.reset(zip_open_from_source(source_bytes, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive_) {
    zip_source_free(source_bytes);
    if (zip_error_code_zip(&error) == ZIP_ER_EXISTS) fail("an entry is there twice");
    fail("is no whole zip archive: " + text_of(error), "was it cut off?");
  }
  zip_error_fini(&error);
  read_directory();
}

void ZipFile::read_directory() {
  const std::int64_t entries = zip_get_num_entries(archive_.get(), 0);
  if (entries > kMaxZipEntries) fail(fmt::format("has {} entries, more than the {} read", entries, kMaxZipEntries));
  std::uint64_t total = 0;
  constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  for (std::int64_t i = 0; i < entries; ++i) {
    zip_stat_t entry;
    zip_stat_init(&entry);
    if (zip_stat_index(archive_.get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 ||
        (entry.valid & kNeeded) != kNeeded)
      fail(fmt::format("entry {} cannot be read", i));
    const std::string place = "entry " + in_quotes(entry.name) + ": ";
    if ((entry.valid & ZIP_STAT_ENCRYPTION_METHOD) && entry.encryption_method != ZIP_EM_NONE)
      fail(place + "is encrypted");
    if (entry.comp_method != ZIP_CM_STORE)
      fail(place + "is compressed", "torch.save stores its entries as they are; save the file again");
    if (entry.size > bytes_.size() - total || entry.size != entry.comp_size)
      fail(fmt::format("{}{} bytes do not fit the {} of the file", place, entry.size, bytes_.size()));
    total += entry.size;
    names_.emplace_back(entry.name);
    sizes_.push_back(entry.size);
  }
  sorted_.resize(names_.size());
  std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
  std::sort(sorted_.begin(), sorted_.end(), [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
  for (std::size_t i = 1; i < sorted_.size(); ++i)
    if (names_[sorted_[i]] == names_[sorted_[i - 1]])
      fail("entry " + in_quotes(names_[sorted_[i]]) + " is there twice");
}

std::size_t ZipFile::find(std::string_view name) const {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                   [&](std::size_t entry, std::string_view wanted) { return names_[entry] < wanted; });
  return at != sorted_.end() && names_[*at] == name ? *at : names_.size();
}

std::vector<std::uint8_t> ZipFile::read(std::string_view name) const {
  const std::size_t entry = find(name);
  if (entry == names_.size()) fail("has no entry " + in_quotes(name));
  const std::string place = "entry " + in_quotes(name) + ": ";
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(archive_.get(), entry, 0), zip_fclose);
  if (!file) {
    if (zip_error_code_zip(zip_get_error(archive_.get())) == ZIP_ER_MEMORY) throw std::bad_alloc();
    fail(place + "cannot be read: " + zip_strerror(archive_.get()));
  }
  std::vector<std::uint8_t> out(sizes_[entry]);
  std::size_t filled = 0;
  std::uint8_t beyond = 0;  // the read that finds the end is the one that checks the CRC
  while (true) {
    const bool full = filled == out.size();
    const zip_int64_t got = zip_fread(file.get(), full ? &beyond : out.data() + filled, full ? 1 : out.size() - filled);
    if (got < 0) fail(place + "is damaged: " + zip_file_strerror(file.get()));
    if (got == 0) break;
    if (full) fail(place + "has more bytes than the directory says");
    filled += static_cast<std::size_t>(got);
  }
  if (filled != out.size()) fail(fmt::format("{}{} of {} bytes are there", place, filled, out.size()));
  return out;
}

}  // namespace afore::wire
