#include "attach.h"

#include <optional>

#include "common/signals.h"
#include "common/token_file.h"
#include "http/record_client.h"
#include "stream_out.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

// What a gate asked for; plans and what came of them are the endpoint's own, and whoever reads the stream makes his.
class Kept {
 public:
  Kept(const AttachFlags& flags, RecordSink& out) : flags_(flags), out_(out) {}

  // False: there are as many steps as were asked for.
  bool take(const Record& record) {
    if (const auto* header = std::get_if<Header>(&record)) {
      write_header(out_, make_header("recorded", 0, header->model, header->cluster.microbatches),
                   JsonObject().add("form", "endpoint"));
    } else if (const auto* batch = std::get_if<Batch>(&record)) {
      if (!begins(batch->step)) return false;
      Batch kept = *batch;
      kept.per_attention_worker.clear();  // whoever plans the stream has attention workers, and splits evenly
      out_.write_line(wire::to_json(kept));
    } else if (const auto* demand = std::get_if<Demand>(&record)) {
      if (!begins(demand->target.step)) return false;
      out_.write_line(wire::to_json(*demand));
    }
    return true;
  }

 private:
  bool begins(std::int64_t step) {
    if (step == step_) return true;
    step_ = step;
    if (flags_.steps > 0 && ++steps_ > flags_.steps) return false;
    if (flags_.steps > 0) out_.set_part(steps_ - 1, flags_.steps);
    out_.flush();
    return true;
  }

  const AttachFlags& flags_;
  RecordSink& out_;
  std::int64_t step_ = -1, steps_ = 0;
};

}  // namespace

void record_endpoint(const AttachFlags& flags, RecordSink& out) {
  const StopFlag* interrupted = catch_interrupts();
  http::RecordClient client(flags.url, flags.token_file.empty() ? "" : read_token(flags.token_file), interrupted);
  wire::RecordDecoder decoder(flags.url);
  Kept kept(flags, out);
  std::string_view line;
  Record record;
  std::int64_t number = 0;
  while (client.next(line)) {
    decoder.decode(line, ++number, record);
    if (!kept.take(record)) break;
  }
  out.finish();
}

}  // namespace afore::cli
