#pragma once
// A scrape, read back: families with their help and type, samples by name and labels. What does not follow the text
// format of Prometheus is an EXPECT failure.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace afore::http {

struct MetricsPage {
  struct Family {
    std::string help, type;
    int samples = 0;
  };
  std::map<std::string, Family> families;
  std::map<std::string, double> values;  // by name{labels}, as printed

  explicit MetricsPage(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    std::string current;  // the family of the lines that follow
    for (std::string line; std::getline(lines, line);) {
      std::smatch m;
      if (std::regex_match(line, m, std::regex("# HELP ([^ ]+) (.*)"))) {
        current = m[1];
        EXPECT_TRUE(families.emplace(current, Family{m[2], "", 0}).second) << current << " comes twice";
      } else if (std::regex_match(line, m, std::regex("# TYPE ([^ ]+) (counter|gauge|histogram)"))) {
        EXPECT_EQ(m[1], current);
        families[current].type = m[2];
      } else {
        static const std::regex sample(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? ([^ ]+))");
        const bool is_sample = std::regex_match(line, m, sample);
        EXPECT_TRUE(is_sample) << line;
        if (!is_sample) continue;
        EXPECT_EQ(family_of(m[1], families[current].type), current) << line;
        families[current].samples += 1;
        EXPECT_TRUE(values.emplace(m[1].str() + m[2].str(), std::stod(m[5])).second) << line << " comes twice";
      }
    }
  }

  double at(const std::string& name) const {
    const auto it = values.find(name);
    EXPECT_NE(it, values.end()) << name << " is not there";
    return it == values.end() ? -1 : it->second;
  }
  bool has(const std::string& name) const { return values.contains(name); }

 private:
  static std::string family_of(const std::string& name, const std::string& type) {
    if (type != "histogram") return name;
    return std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
  }
};

}  // namespace afore::http
