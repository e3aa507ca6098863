#pragma once
// One HTML page that needs nothing but itself: no script, nothing loaded, the same bytes for the same input.
#include <string>
#include <utility>
#include <vector>

#include "report/table.h"

namespace afore::report {

struct PagePanel {
  std::string id;       // of the element: our own literal
  std::string name;     // heading
  std::string svg;      // Canvas::embedded(); empty where the records for it are missing
  std::string missing;  // then why, and how to get them
  Table figures{{}};    // the picture in numbers, for who cannot see it
};

struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> provenance;  // key, value: as the stream's header has them
  Table figures{{}};
  std::vector<PagePanel> panels;
};

std::string html_page(const Page& page);

}  // namespace afore::report
