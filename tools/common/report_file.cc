#include "common/report_file.h"

#include "common/publish.h"

namespace afore::cli {
namespace {

const char* const kReportHint = "--report never overwrites: give another name";

}  // namespace

void add_report(Command app, std::string& path) {
  app.option("--report", path, "Also write a page of pictures to FILE, which must not exist (docs/pictures.md)")
      .value_name("FILE.html")
      .beside_stdout();
}

void check_report(const std::string& path) {
  if (!path.empty()) check_can_publish(path, false, kReportHint);
}

void publish_report(const std::string& path, const std::string& html) { publish(path, html, false, kReportHint); }

}  // namespace afore::cli
