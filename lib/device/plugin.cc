#include "device/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "util/error.h"

namespace afore::device {
namespace {

constexpr const char* kLibrary = "libafore_cuda.so";

std::vector<std::filesystem::path> places() {
  if (const char* given = std::getenv("AFORE_CUDA_PLUGIN"); given != nullptr && *given != '\0') return {given};
  std::error_code error;
  const std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = tool.parent_path();
  return {folder / kLibrary, folder.parent_path() / "lib" / kLibrary,
          folder.parent_path() / "lib" / "afore" / kLibrary};
}

// The first that exists, else the first place.
std::filesystem::path find_library() {
  const auto all = places();
  std::error_code error;
  for (const std::filesystem::path& place : all)
    if (std::filesystem::exists(place, error)) return place;
  return all.empty() ? kLibrary : all.front();
}

Plugin& load(const std::filesystem::path& path) {
  const std::string hint = "build with the CUDA Toolkit, or name the library with AFORE_CUDA_PLUGIN";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ErrorKind::io, std::string("no CUDA device: ") + dlerror(), hint);
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, kPluginSymbol));
  if (entry == nullptr) throw Error(ErrorKind::io, path.string() + " is no device of this program", hint);
  const char* why = "";
  Plugin* plugin = entry(AFORE_VERSION, &why);
  if (plugin == nullptr) throw Error(ErrorKind::io, path.string() + ": " + why, hint);
  return *plugin;
}

}  // namespace

Plugin& cuda_plugin() {
  static Plugin& plugin = load(find_library());
  return plugin;
}

std::string why_no_cuda() {
  try {
    return cuda_plugin().unavailable();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace afore::device
