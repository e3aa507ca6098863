// gpu_check [--json] [--only SECTION]...
// Kernels against their twins on this machine's GPU, and what it does beside what it could do. A table, or JSON, on
// standard output; docs/gpu.md says how to read it. Exit 1 when a check failed, 2 for a wrong command line, 77 without
// a GPU: figures decide nothing. gpu_check_shim is the same program with a CPU in the GPU's place, at tiny sizes.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "bench/gpu/context.h"
#include "util/error.h"

namespace afore::bench::gpu {
namespace {

#ifdef AFORE_WITH_CUDART
constexpr bool kStandIn = false;
#else
constexpr bool kStandIn = true;
#endif

struct Section {
  const char* name;
  void (*run)(Context&);
};
constexpr Section kSections[] = {
    {"vectors", check_vectors},
    {"gate", check_gate},
    {"rows", check_rows},
    {"ffn", check_expert_ffn},
    {"attention", check_attention},
    {"sample", check_sample},
    {"invariance", check_invariance},
    {"ceilings", measure_ceilings},
    {"grouped", measure_expert_ffn},
    {"decode", measure_attention},
    {"overheads", measure_overheads},
};

struct Options {
  bool json = false;
  std::vector<std::string> only;
  bool wanted(const std::string& section) const {
    return only.empty() || std::find(only.begin(), only.end(), section) != only.end();
  }
};

std::string section_names() {
  std::string names;
  for (const Section& section : kSections) names += (names.empty() ? "" : ", ") + std::string(section.name);
  return names;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--json") {
      options.json = true;
    } else if (arguments[i] == "--only" && i + 1 < arguments.size()) {
      options.only.push_back(arguments[++i]);
      const auto named = [&](const Section& section) { return options.only.back() == section.name; };
      if (std::none_of(std::begin(kSections), std::end(kSections), named))
        throw Error(ErrorKind::usage, "no section " + options.only.back(), "sections: " + section_names());
    } else {
      throw Error(ErrorKind::usage, "gpu_check [--json] [--only SECTION]...", "sections: " + section_names());
    }
  }
  return options;
}

void add_facts(Report& report) {
  const DeviceFacts facts = device_facts();
  report.stand_in = kStandIn;
  report.facts = {{"device", facts.name},
                  {"capability", facts.capability},
                  {"multiprocessors", std::to_string(facts.multiprocessors)},
                  {"memory_bytes", std::to_string(facts.memory_bytes)},
                  {"l2_bytes", std::to_string(facts.l2_bytes)},
                  {"driver", facts.driver},
                  {"runtime", facts.runtime},
                  {"clocks", "as they are: not locked"}};
}

// A section that throws is a check that failed: the others still run, as far as the device lets them.
void run_sections(const Options& options, Report& report) {
  Context context{.report = report, .sizes = kStandIn ? tiny_sizes() : Sizes{}, .read_bytes_per_s = 0};
  for (const Section& section : kSections) {
    if (!options.wanted(section.name)) continue;
    const double begin = now_ns();
    try {
      section.run(context);
    } catch (const std::exception& error) {
      report.check(section.name, "runs to its end", error.what());
    }
    std::fprintf(stderr, "gpu_check: %s: %.1f s\n", section.name, (now_ns() - begin) / 1e9);
  }
}

int run(const Options& options) {
  if (const std::string why = why_no_device(); !why.empty()) {
    std::fprintf(stderr, "gpu_check: %s\n", why.c_str());
    return 77;
  }
  Report report;
  add_facts(report);
  run_sections(options, report);
  std::fputs((options.json ? report.json() : report.table()).c_str(), stdout);
  return report.passed() || (report.checks.empty() && !options.only.empty()) ? 0 : 1;
}

}  // namespace
}  // namespace afore::bench::gpu

int main(int argc, char** argv) {
  try {
    return afore::bench::gpu::run(afore::bench::gpu::parse({argv + 1, argv + argc}));
  } catch (const afore::Error& error) {
    std::fprintf(stderr, "gpu_check: error: %s\n", error.what());
    if (!error.hint().empty()) std::fprintf(stderr, "hint: %s\n", error.hint().c_str());
    return error.kind() == afore::ErrorKind::usage ? 2 : 1;
  }
}
