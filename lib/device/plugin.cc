#include "device/plugin.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
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

// What the loader maps must be in the file: it would end the program by a signal for one that was half copied.
bool is_whole_library(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  Elf64_Ehdr head{};
  if (error || !in.read(reinterpret_cast<char*>(&head), sizeof(head)) ||
      std::string_view(reinterpret_cast<const char*>(head.e_ident), SELFMAG) != std::string_view(ELFMAG, SELFMAG))
    return false;
  in.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return false;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return false;
  }
  return true;
}

Plugin& load(const std::filesystem::path& found) {
  const std::string hint = std::getenv("AFORE_CUDA_PLUGIN") != nullptr
                               ? "AFORE_CUDA_PLUGIN names a library that the build of this tool made"
                               : "build with the CUDA Toolkit, or name the library with AFORE_CUDA_PLUGIN";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(found, error);  // the loader would look elsewhere
  if (!std::filesystem::exists(path, error))
    throw Error(ErrorKind::io, "no CUDA device: there is no " + found.string(), hint);
  if (!std::filesystem::is_regular_file(path, error) || !is_whole_library(path))
    throw Error(ErrorKind::io, "no CUDA device: " + found.string() + " is no whole library", hint);
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
