#include <gtest/gtest.h>

#include <algorithm>

#include "report/cdf.h"
#include "report/gantt.h"
#include "report/heatmap.h"
#include "report/html_page.h"
#include "report/over_time.h"
#include "report/policy_bars.h"
#include "report/theme.h"
#include "report/ticks.h"
#include "report/worker_load.h"
#include "util/error.h"

namespace afore::report {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Heatmap, JoinsNeighboursOfOneColour) {
  ExpertLoads loads;
  loads.layers[3] = {5, 5, 5, 5};
  loads.layers[7] = {0, 0, 20, 0};
  const std::string svg = heatmap(loads, "test").embedded();
  // Layer 3 is even in all four experts, step [1, 1.5); in layer 7 one has four times the mean, step [4, 6).
  EXPECT_NE(svg.find("\" d=\"M0 0h4\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("\" d=\"M2 1h1\"/>"), std::string::npos) << svg;
  EXPECT_EQ(count(svg, "class=\"cells\""), 2u);
  EXPECT_NE(svg.find(">3</text>"), std::string::npos);
  EXPECT_NE(svg.find(">7</text>"), std::string::npos);
  EXPECT_EQ(heatmap_data(loads).tsv(),
            "layer\texpert\tassignments\ttimes_mean\n3\t0\t5\t1.0000\n3\t1\t5\t1.0000\n3\t2\t5\t1.0000\n"
            "3\t3\t5\t1.0000\n7\t0\t0\t0.0000\n7\t1\t0\t0.0000\n7\t2\t20\t4.0000\n7\t3\t0\t0.0000\n");
}

TEST(Heatmap, StaysLightAndUncrowdedWhenLarge) {
  ExpertLoads loads;
  std::uint64_t state = 1;
  for (int layer = 3; layer < 61; ++layer)
    for (int e = 0; e < 256; ++e) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      loads.layers[layer].push_back(static_cast<std::int64_t>(state >> 54));
    }
  const std::string svg = heatmap(loads, "58 x 256").standalone();
  EXPECT_LT(svg.size(), 200'000u);
  EXPECT_LT(count(svg, "<text"), 80u);
  loads.layers.clear();
  loads.layers[0].assign(100'000, 1);
  loads.layers[0][77'777] = 1000;
  EXPECT_NE(heatmap(loads, "").embedded().find("100000 experts in 1024 groups"), std::string::npos);
}

TEST(Ticks, EndWhereDoublesHaveNoNextMultiple) {
  for (const double lo : {1e15, 9007199254740992.0, 1e18}) {
    const Ticks ticks = linear_ticks(lo, lo + 1, 8);
    EXPECT_LE(ticks.values.size(), 8u);
    for (std::size_t i = 1; i < ticks.values.size(); ++i) EXPECT_GT(ticks.values[i], ticks.values[i - 1]);
  }
  EXPECT_EQ(linear_ticks(0, 10, 6).values, (std::vector<double>{0, 2, 4, 6, 8, 10}));
}

TEST(Cdf, HasAThousandPointsAtMost) {
  for (const std::int64_t samples : {1'000, 1'001, 1'999, 2'000, 100'000}) {
    CdfPanel panel{"TTFT", "time", {CdfSeries{}}, {}};
    for (std::int64_t ns = 1; ns <= samples; ++ns) panel.series[0].distribution.add(ns);
    panel.series[0].distribution.sort();
    const std::size_t points = count(cdf_data({panel}).tsv(), "\n") - 1;
    EXPECT_LE(points, 1'000u) << samples;
    EXPECT_GT(points, 490u) << samples;
  }
}

TEST(Theme, TheRampGetsLighterAllTheWay) {
  EXPECT_EQ(cividis(0), "#00224e");
  EXPECT_EQ(cividis(1), "#fee838");
  double before = -1;
  for (int i = 0; i <= 20; ++i) {
    const std::string color = cividis(i / 20.0);
    const auto part = [&](int at) { return std::stoi(color.substr(at, 2), nullptr, 16); };
    const double light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    EXPECT_GT(light, before);
    before = light;
  }
}

TEST(WorkerLoad, BarsBecomeOutlinesWhenTheyAreMany) {
  WorkerLoad load{"tiles", {4, 2}, {3, 3}, 1.333, 1};
  const std::string few = worker_load(load, "").embedded();
  EXPECT_NE(few.find("F0 initial placement: 4 tiles"), std::string::npos);
  EXPECT_NE(few.find("initial placement: max / mean 1.333"), std::string::npos);
  EXPECT_NE(few.find("as planned: max / mean 1.000"), std::string::npos);
  load.before.assign(1000, 5);
  load.after.assign(1000, 4);
  const std::string many = worker_load(load, "").embedded();
  EXPECT_EQ(count(many, "<rect"), 2u) << "only those of the legend";
  EXPECT_LT(count(many, "<text"), 40u);
  EXPECT_EQ(max_over_mean({0, 0}), 0);
  EXPECT_DOUBLE_EQ(max_over_mean({3, 1}), 1.5);
}

TEST(Cdf, StepsAndMarksAreWhereTheSamplesAre) {
  Distribution d;
  for (int i = 100; i > 0; --i) d.add(i * 1'000'000);
  d.sort();
  EXPECT_EQ(d.samples(), 100);
  EXPECT_EQ(d.percentile(0.5), 50'000'000);
  EXPECT_EQ(d.percentile(0.95), 95'000'000);
  EXPECT_EQ(d.percentile(0.99), 99'000'000);
  EXPECT_EQ(d.percentile(1), 100'000'000);
  const std::vector<CdfPanel> panels = {{"TTFT", "first", {{"", d}}, 80.0}, {"ITL", "gaps", {{"", {}}}, {}}};
  const std::string svg = cdfs(panels, "test").embedded();
  EXPECT_EQ(count(svg, "<circle"), 3u);
  EXPECT_NE(svg.find("limit 80.0 ms"), std::string::npos);
  EXPECT_NE(svg.find("no samples of ITL"), std::string::npos);
  const std::string tsv = cdf_data(panels).tsv();
  EXPECT_EQ(count(tsv, "\n"), 101u);
  EXPECT_NE(tsv.find("TTFT\t\t50.000000\t0.500000\n"), std::string::npos);
}

TEST(Cdf, ManySamplesAreThinnedWithoutLosingTheEnds) {
  Distribution d;
  for (int i = 1; i <= 1'000'000; ++i) d.add(i);
  d.sort();
  const std::string tsv = cdf_data({{"ITL", "", {{"", d}}, {}}}).tsv();
  EXPECT_LT(count(tsv, "\n"), 1100u);
  EXPECT_NE(tsv.find("1.000000\t1.000000\n"), std::string::npos);
  EXPECT_NE(tsv.find("0.000001\t0.000001\n"), std::string::npos);
}

TEST(Cdf, EqualSamplesAreOne) {
  Distribution d;
  d.add(5, 3);
  d.add(2);
  d.add(5);
  d.add(9, 0);
  d.sort();
  EXPECT_EQ(d.values(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 1}, {5, 4}}));
}

TEST(OverTime, JoinsStepsIntoBuckets) {
  OverTime data;
  data.unit = "tiles";
  data.expert_bytes = 1 << 20;
  data.series.push_back({"as planned", {}, true});
  for (int step = 0; step < 7200; ++step) data.series[0].steps.push_back({step, 3.0, 2, 1});
  const std::string svg = over_time(data, "long").embedded();
  EXPECT_NE(svg.find("means over 20 steps"), std::string::npos);
  EXPECT_LT(svg.size(), 40'000u);
  EXPECT_NE(over_time_figures(data).tsv().find("as planned\t7,200\t1.500\t1.500\t7,200\t7.03\n"), std::string::npos);
}

TEST(PolicyBars, AreRelativeToTheFirst) {
  const PolicyComparison c = {{"static", "afore"},
                              {{"tokens/s", true, {100.0, 125.0}, 0},
                               {"exposed us", false, {0.0, 3.0}, 1},
                               {"step ms", false, {10.0, std::nullopt}, 1}}};
  const std::string svg = policy_bars(c, "").embedded();
  EXPECT_NE(svg.find("125 (+25.0%)"), std::string::npos);
  EXPECT_EQ(svg.find("exposed us"), std::string::npos) << "nothing is relative to 0";
}

Slice slice(char pool, int worker, Lane lane, Work work, Nanos start, Nanos end, int layer = 0) {
  Slice s;
  s.pool = pool;
  s.worker = worker;
  s.lane = lane;
  s.work = work;
  s.start_ns = start;
  s.end_ns = end;
  s.step = 5;
  s.layer = layer;
  return s;
}

TEST(Gantt, CopiesAreDrawnUnderTheirWorker) {
  Timeline t;
  t.step = 5;
  t.from_ns = 0;
  t.to_ns = 1000;
  t.attention_workers = t.ffn_workers = 1;
  t.slices = {slice('A', 0, Lane::compute, Work::attention, 0, 300), slice('F', 0, Lane::copy, Work::copy, 100, 600),
              slice('F', 0, Lane::compute, Work::expert_ffn, 300, 1000)};
  const std::string svg = gantt(t, std::nullopt, "test").embedded();
  const auto y_of_last = [&](const std::string& color) {  // "M x y h ..." of the last bar of a path
    const std::size_t path = svg.find("<path class=\"" + color + "\" d=\"");
    const std::size_t bar = svg.rfind('M', svg.find("/>", path));
    return std::stod(svg.substr(svg.find(' ', bar)));
  };
  EXPECT_GT(y_of_last("f1"), y_of_last("f0")) << svg;
  EXPECT_EQ(gantt_figures(t).tsv(),
            "worker\tcomputes\treceives copies\tcopies\nA0\t30.0%\t0.0%\t0\nF0\t70.0%\t50.0%\t1\n");
  EXPECT_THROW(gantt(t, TimeWindow{5000, 6000}, ""), Error);
}

TEST(Gantt, OfManyWorkersThoseWithCopiesAreDrawn) {
  Timeline t;
  t.step = 5;
  t.to_ns = 1000;
  t.ffn_workers = 1000;
  for (int w = 0; w < 1000; ++w) t.slices.push_back(slice('F', w, Lane::compute, Work::expert_ffn, 0, 1000));
  t.slices.push_back(slice('F', 777, Lane::copy, Work::copy, 10, 500));
  const std::string svg = gantt(t, std::nullopt, "test").embedded();
  EXPECT_NE(svg.find("FFN workers, 24 of 1000"), std::string::npos);
  EXPECT_NE(svg.find(">F777</text>"), std::string::npos);
  EXPECT_LT(count(svg, "<text"), 80u);
}

TEST(HtmlPage, HoldsNoMarkupFromItsInput) {
  const std::string evil = "</title><script>alert('x')</script>";
  Table figures({{evil}});
  figures.add_row({evil});
  const std::string page = html_page({evil, {{"model", evil}}, figures, {{"gantt", "Timeline", "", evil, Table({})}}});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(count(page, "</title>"), 1u);
  EXPECT_EQ(count(page, "&lt;script&gt;"), 6u)
      << "title, heading, provenance, head and cell of the table, what is missing";
  EXPECT_EQ(page.find("http"), page.find("http-equiv")) << "nothing is loaded";
}

TEST(Canvas, StandsAloneWithItsColoursOrInAPage) {
  Canvas canvas(100, "a < b", "");
  canvas.end_at(50);
  const std::string alone = canvas.standalone(), inside = canvas.embedded();
  EXPECT_NE(alone.find("xmlns=\"http://www.w3.org/2000/svg\""), std::string::npos);
  EXPECT_NE(alone.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(inside.find("<style"), std::string::npos);
  EXPECT_EQ(inside.find("http"), std::string::npos);
  EXPECT_NE(inside.find("<title>a &lt; b</title>"), std::string::npos);
}

}  // namespace
}  // namespace afore::report
