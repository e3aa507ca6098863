#include "wire/calibration.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "wire/decode.h"
#include "wire/limits.h"
#include "wire/sm_split.h"

namespace afore::wire {
namespace {

void refuse_others(JsonValue object, std::initializer_list<std::string_view> known) {
  object.expect(JsonType::object);
  for (const JsonValue member : object)
    if (std::find(known.begin(), known.end(), member.key()) == known.end())
      member.fail("unknown key", "docs/migrate.md lists the keys of \"measured\"");
}

double read_error(JsonValue value) {
  const double error = value.number();
  if (error < 0) value.fail("an error is negative");
  return error;
}

FitQuality read_quality(ObjectReader& object) {
  FitQuality fit;
  fit.points = object.required("points").integer(1, kMaxInteger, "number of points");
  const JsonValue r2 = object.required("r2");
  fit.r2 = r2.number();
  if (fit.r2 > 1) r2.fail("R² is at most 1");
  fit.p95_error = read_error(object.required("p95_error"));
  const JsonValue worst = object.required("worst_error");
  fit.worst_error = read_error(worst);
  if (fit.worst_error < fit.p95_error) worst.fail("the worst error is below the 95th percentile");
  fit.held = read_strings(object.required("held"));
  return fit;
}

CopyCalibration read_copies(JsonValue value) {
  refuse_others(value, {"path", "latency_ns", "bytes_per_s", "points", "r2", "p95_error", "worst_error", "held"});
  ObjectReader object(value);
  CopyCalibration copies;
  const JsonValue path = object.required("path");
  copies.path = path.string();
  if (copies.path != "host" && copies.path != "d2d" && copies.path != "peer" && copies.path != "nccl")
    path.fail("not one of host, d2d, peer, nccl");
  copies.latency_ns = object.required("latency_ns").integer(0, kMaxTimeNs, "time");
  const JsonValue rate = object.required("bytes_per_s");
  copies.bytes_per_s = rate.number();
  if (!(copies.bytes_per_s >= 1 && copies.bytes_per_s <= kMaxRate))
    rate.fail("a rate must be from 1 to 1e20 per second");
  copies.fit = read_quality(object);
  return copies;
}

FfnCalibration read_ffn(JsonValue value) {
  refuse_others(
      value, {"hidden", "intermediate", "tile_tokens", "threads", "points", "r2", "p95_error", "worst_error", "held"});
  ObjectReader object(value);
  FfnCalibration ffn;
  ffn.hidden = object.required("hidden").integer(1, kMaxInteger, "size");
  ffn.intermediate = object.required("intermediate").integer(1, kMaxInteger, "size");
  ffn.tile_tokens = object.required("tile_tokens").integer(1, kMaxInteger, "tile");
  ffn.threads = object.required("threads").integer(0, kMaxIndex, "number of threads");
  ffn.fit = read_quality(object);
  return ffn;
}

void write_quality(JsonWriter& json, const FitQuality& fit) {
  json.integer("points", fit.points);
  json.real("r2", fit.r2);
  json.real("p95_error", fit.p95_error);
  json.real("worst_error", fit.worst_error);
  json.strings("held", fit.held);
}

}  // namespace

Calibration read_calibration(JsonValue value) {
  refuse_others(value, {"producer", "command", "seed", "device", "device_name", "arithmetic", "units", "workers",
                        "virtual_workers", "sm_partitions", "copies", "ffn"});
  ObjectReader object(value);
  Calibration measured;
  measured.producer = object.required("producer").string();
  measured.command = read_strings(object.required("command"));
  measured.seed = object.required("seed").integer(0, kMaxInteger, "seed");
  const JsonValue device = object.required("device");
  measured.device = device.string();
  if (measured.device != "cpu" && measured.device != "cuda") device.fail("not one of cpu, cuda");
  measured.device_name = object.required("device_name").string();
  measured.arithmetic = object.required("arithmetic").string();
  measured.units = object.required("units").integer(1, kMaxIndex, "number of units");
  measured.workers = object.required("workers").integer(1, kMaxIndex, "number of workers");
  measured.virtual_workers = object.required("virtual_workers").boolean();
  if (const JsonValue split = object.find("sm_partitions")) measured.sm_split = read_sm_split(split);
  const JsonValue copies = object.required("copies");
  copies.expect(JsonType::array);
  for (const JsonValue item : copies) {
    const CopyCalibration next = read_copies(item);
    for (const CopyCalibration& before : measured.copies)
      if (before.path == next.path) item.fail("the path stands twice");
    measured.copies.push_back(next);
  }
  if (const JsonValue ffn = object.find("ffn")) measured.ffn = read_ffn(ffn);
  if (measured.copies.empty() && !measured.ffn) copies.fail("nothing was measured: no copies, and no ffn");
  return measured;
}

void write_calibration(JsonWriter& json, const Calibration& measured) {
  json.open('{');
  json.string("producer", measured.producer);
  json.strings("command", measured.command);
  json.integer("seed", measured.seed);
  json.string("device", measured.device);
  json.string("device_name", measured.device_name);
  json.string("arithmetic", measured.arithmetic);
  json.integer("units", measured.units);
  json.integer("workers", measured.workers);
  json.boolean("virtual_workers", measured.virtual_workers);
  if (measured.sm_split) {
    json.key("sm_partitions");
    write_sm_split(json, *measured.sm_split);
  }
  json.key("copies");
  json.open('[');
  for (const CopyCalibration& copies : measured.copies) {
    json.separate();
    json.open('{');
    json.string("path", copies.path);
    json.integer("latency_ns", copies.latency_ns);
    json.real("bytes_per_s", copies.bytes_per_s);
    write_quality(json, copies.fit);
    json.close('}');
  }
  json.close(']');
  if (measured.ffn) {
    json.key("ffn");
    json.open('{');
    json.integer("hidden", measured.ffn->hidden);
    json.integer("intermediate", measured.ffn->intermediate);
    json.integer("tile_tokens", measured.ffn->tile_tokens);
    json.integer("threads", measured.ffn->threads);
    write_quality(json, measured.ffn->fit);
    json.close('}');
  }
  json.close('}');
}

}  // namespace afore::wire
