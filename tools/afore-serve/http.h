#pragma once
// afore-serve http: a real model behind an OpenAI-compatible endpoint.
#include <optional>
#include <string>

#include "afore-serve/workers.h"
#include "common/options.h"

namespace afore::serve {

struct HttpFlags : WorkerFlags {
  std::string listen = "127.0.0.1", token_file, ready_file, served_model_name, inject;
  std::int64_t port = 8000, max_connections = 4096, drain_s = 30;
};

void add_http_flags(cli::Command app, HttpFlags& flags);
void serve_http(HttpFlags flags);

}  // namespace afore::serve
