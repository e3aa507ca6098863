#pragma once
// Files that appear whole or not at all.
#include <string>
#include <string_view>

namespace afore::cli {

// Of commands that have --force.
inline constexpr const char* kForceHint = "give another name, or --force to replace it";

// Error{io} when `path` exists and `overwrite` is off, or its folder cannot be written: asked before long work.
// "-" is standard output and always fine. `hint` is what the user can do about an existing file.
void check_can_publish(const std::string& path, bool overwrite, const std::string& hint);

// Writes beside `path` under a name of its own, then moves it into place; with `overwrite` off an existing file stays
// as it is, even when it appeared since the check. Error{io}, and nothing is left behind.
void publish(const std::string& path, std::string_view bytes, bool overwrite, const std::string& hint);

// A name beside `path` for a file that is still being written; removed unless it was moved into place, also when a
// broken pipe or a second signal ends the process. One at a time.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::string& name() const { return name_; }
  // Gives the file, which is closed, its final name. Error{io} when that exists by now.
  void move_into_place(const std::string& hint);

 private:
  std::string path_, name_;
};

// For ends that run no destructors: removes the file of an Unfinished that lives. May be called by signal handlers.
void remove_unfinished() noexcept;

}  // namespace afore::cli
