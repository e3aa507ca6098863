#include "common/ready_file.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "common/publish.h"
#include "util/error.h"

namespace afore::cli {
namespace {

// The path of the one that lives, or null: a handler can allocate nothing and take no lock.
std::atomic<const char*> g_ready{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

}  // namespace

ReadyFile::ReadyFile(std::string path, std::string_view bytes) : path_(std::move(path)) {
  if (path_.empty()) return;
  AFORE_CHECK(g_ready.load() == nullptr, "one ready file at a time");
  publish(path_, bytes, true, "");
  g_ready = path_.c_str();
}

ReadyFile::~ReadyFile() {
  if (path_.empty()) return;
  remove_ready_file();
  g_ready = nullptr;
}

void remove_ready_file() noexcept {
  if (const char* path = g_ready.load()) ::unlink(path);
}

}  // namespace afore::cli
