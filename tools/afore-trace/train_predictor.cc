// `afore-trace train-predictor`: from recorded routing, networks that tell the next layers' demand ahead of their
// gates.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "commands.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/progress.h"
#include "common/publish.h"
#include "common/record_stream.h"
#include "common/signals.h"
#include "json_object.h"
#include "predict/model.h"
#include "predict/projection.h"
#include "predict/train.h"
#include "predictor_data.h"
#include "report/table.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

struct TrainPredictorOptions {
  PredictorDataOptions data;
  std::string output, features;
  std::int64_t epochs = 8, seed = 0, threads = 0, token_dims = 64;  // threads 0: one per core
  bool force = false, json = false;
};

int threads_of(const TrainPredictorOptions& o) {
  if (o.threads > 0) return static_cast<int>(o.threads);
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
}

struct Trained {
  PredictorData data;
  predict::CascadeModel model;
  std::vector<predict::LayerAccuracy> layers;
  std::string bytes;
};

using Accuracy = predict::LayerAccuracy;

Accuracy mean_of(const std::vector<Accuracy>& layers) {
  Accuracy mean;
  for (const Accuracy& layer : layers) {
    mean.rows = layer.rows;  // the same in all
    mean.recall += layer.recall;
    mean.popular_recall += layer.popular_recall;
    mean.counts_error += layer.counts_error;
    mean.popular_counts_error += layer.popular_counts_error;
  }
  const double count = static_cast<double>(layers.size());
  for (double* value : {&mean.recall, &mean.popular_recall, &mean.counts_error, &mean.popular_counts_error})
    *value /= count;
  return mean;
}

// Of the weights of all routed experts; below 0 where the stream does not say their size.
double share_of_experts(const Trained& t) {
  const ModelSpec& model = t.data.model;
  if (model.expert_bytes <= 0) return -1;
  return static_cast<double>(t.bytes.size()) / static_cast<double>(model.experts * std::ssize(model.moe_layers)) /
         static_cast<double>(model.expert_bytes);
}

std::string text_of(const Trained& t) {
  report::Table table({{"layer"}, {"rows"}, {"recall"}, {"popular"}, {"counts error"}, {"of popular"}});
  const auto add_row = [&](const std::string& name, const Accuracy& a) {
    const auto number = [&](double value) { return a.rows > 0 ? fmt::format("{:.3f}", value) : "-"; };
    table.add_row({name, std::to_string(a.rows), number(a.recall), number(a.popular_recall), number(a.counts_error),
                   number(a.popular_counts_error)});
  };
  for (std::size_t i = 0; i < t.layers.size(); ++i) add_row(std::to_string(t.model.shape.moe_layers[i]), t.layers[i]);
  table.add_rule();
  add_row("mean", mean_of(t.layers));
  const PredictorData& d = t.data;
  std::string text = table.aligned();
  text += fmt::format("recall: chosen experts among the {} best scores; popular: among the {} that were chosen most\n",
                      t.model.shape.top_k, t.model.shape.top_k);
  text += fmt::format("counts error: of a microbatch, sum |expected - true| / sum true\n");
  text += fmt::format("requests: {} to learn from, {} to tell when that is enough, {} tested\n", d.train_requests,
                      d.check_requests, d.test_requests);
  text += fmt::format("{} bytes", t.bytes.size());
  if (const double share = share_of_experts(t); share >= 0)
    text += fmt::format(", {:.3f}% of the routed experts' weights", 100 * share);
  return text + "\n";
}

// Of no rows nothing is known.
JsonObject json_of(const Accuracy& a) {
  JsonObject object;
  const auto add = [&](const char* key, double value) {
    if (a.rows > 0) object.add(key, value);
    else object.add_raw(key, "null");
  };
  add("recall", a.recall);
  add("popular_recall", a.popular_recall);
  add("counts_error", a.counts_error);
  add("popular_counts_error", a.popular_counts_error);
  return object;
}

std::string json_of(const Trained& t) {
  const PredictorData& d = t.data;
  std::string layers;
  for (std::size_t i = 0; i < t.layers.size(); ++i) {
    std::string layer = json_of(t.layers[i]).text();
    layer.insert(1, fmt::format("\"layer\":{},", t.model.shape.moe_layers[i]));
    if (!layers.empty()) layers += ',';
    layers += layer;
  }
  const auto parts = [](std::int64_t train, std::int64_t check, std::int64_t test) {
    return JsonObject().add("train", train).add("check", check).add("test", test).text();
  };
  JsonObject object;
  object.add("model", t.model.shape.model)
      .add_raw("requests", parts(d.train_requests, d.check_requests, d.test_requests))
      .add_raw("rows", parts(d.data.rows_of(predict::Part::train), d.data.rows_of(predict::Part::check),
                             d.data.rows_of(predict::Part::test)))
      .add_raw("layers", "[" + layers + "]")
      .add_raw("mean", json_of(mean_of(t.layers)).text())
      .add("bytes", t.bytes.size());
  if (const double share = share_of_experts(t); share >= 0) object.add("share_of_experts", share);
  else object.add_raw("share_of_experts", "null");
  return object.text() + "\n";
}

void train(const TrainPredictorOptions& o, const StopFlag* interrupted, Trained& t) {
  Progress progress("layer epochs", kAbsent, Progress::Output::at_end);
  predict::TrainOptions options;
  options.epochs = static_cast<int>(o.epochs);
  options.seed = static_cast<std::uint64_t>(o.seed);
  options.threads = threads_of(o);
  options.interrupted = interrupted;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.set_part(done, total);
    progress.add();
  };
  const auto start = std::chrono::steady_clock::now();
  predict::train(t.data.data, options, t.model);
  progress.finish();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  note(fmt::format("trained in {:.1f} s", took.count()));
  t.layers = predict::evaluate(t.data.data, t.model, options.threads);
}

void run_train(const TrainPredictorOptions& o) {
  if (o.data.hidden % predict::kLanes != 0)
    throw Error(ErrorKind::usage, fmt::format("--hidden {} is no multiple of {}", o.data.hidden, predict::kLanes));
  check_can_publish(o.output, o.force, kForceHint);
  check_output_is_no_input(o.data, o.output);
  const StopFlag* interrupted = catch_interrupts();
  Trained t;
  t.data = load_predictor_data(o.data);
  t.model.shape = t.data.shape;
  if (!o.features.empty())
    t.model.tokens =
        predict::project_embedding(o.features, static_cast<int>(o.token_dims), static_cast<std::uint64_t>(o.seed));
  train(o, interrupted, t);
  t.model.facts = {{"producer", producer("afore-trace")},
                   {"train_rows", std::to_string(t.data.data.rows_of(predict::Part::train))},
                   {"epochs", std::to_string(o.epochs)},
                   {"seed", std::to_string(o.seed)}};
  if (const Accuracy mean = mean_of(t.layers); mean.rows > 0)
    t.model.facts["recall"] = fmt::format("{:.4f}", mean.recall);
  t.bytes = predict::predictor_bytes(t.model);
  publish(o.output, t.bytes, o.force, kForceHint);
  ByteWriter out("-");
  out.write(o.json ? json_of(t) : text_of(t));
  out.finish();
}

}  // namespace

void add_train_predictor(Command app) {
  Command sub = app.command("train-predictor", "Learn to tell the next layers' demand from recorded routing");
  auto o = std::make_shared<TrainPredictorOptions>();
  sub.option("STREAM", o->data.inputs,
             "Recorded streams with rows and routing, as FILE or NAME=FILE, where NAME is a domain")
      .required();
  sub.option("-o,--output", o->output, "The predictor").value_name("FILE").required().beside_stdout();
  sub.flag("--force", o->force, "Replace an existing file");
  sub.flag("--json", o->json, "The accuracy as one object");
  add_recover(sub, o->data.recover);
  const std::string learning = "learning";
  sub.option("--features", o->features,
             "Model folder whose embedding tells tokens apart (default: routing alone tells)")
      .value_name("DIR")
      .under(learning);
  sub.integer("--token-dims", o->token_dims, "Dimensions of a token's vector, with --features", 1, 4096)
      .under(learning);
  sub.integer("--hidden", o->data.hidden, "Units of each layer's network, a multiple of 16; 0: a linear one", 0, 4096)
      .under(learning);
  sub.integer("--window", o->data.window, "MoE layers before a layer whose routing it is told from", 0, 1024)
      .under(learning);
  sub.integer("--epochs", o->epochs, "Times that learning goes through its rows", 1, 10'000).under(learning);
  sub.integer("--seed", o->seed, "Of everything drawn", 0, std::int64_t{1} << 53).under(learning);
  sub.integer("--threads", o->threads,
              "Threads to learn with; the predictor does not depend on it (default: one per core)", 1, 256)
      .hide_default()
      .under(learning);
  const std::string testing = "testing";
  Option share = sub.real("--test-share", o->data.test_share,
                          "Share of the requests that is kept apart to test with (default: 0.2)", 0.9);
  share.under(testing);
  sub.option("--test-domain", o->data.test_domain, "Test with all requests of this input instead")
      .value_name("NAME")
      .excludes(share)
      .under(testing);
  sub.examples({{"A predictor of the bundled model",
                 "model=${AFORE_DATA:-/usr/share/afore}/models/tiny\n"
                 "afore-trace record --routing --workload math --steps 40 > routed.jsonl\n"
                 "afore-trace train-predictor -q routed.jsonl -o tiny.predictor \\\n"
                 "  --features $model --epochs 2 --hidden 16"},
                {"Of recorded routing alone, tested on a domain that it never saw",
                 "from=${AFORE_DATA:-/usr/share/afore}/data/tiny-routing\n"
                 "for name in math code; do\n"
                 "  afore-trace import --from routing-ids $from/$name.ids.u8.zst \\\n"
                 "    --meta $from/$name.index.json --rows -q --concurrent 16 --steps 40 \\\n"
                 "    > $name.jsonl\n"
                 "done\n"
                 "afore-trace train-predictor -q math=math.jsonl code=code.jsonl \\\n"
                 "  -o math.predictor --test-domain code --epochs 2 --hidden 16"}});
  sub.on_run([o] { run_train(*o); });
}

}  // namespace afore::cli
