#pragma once
// What replay and compare share: a host for a setup, and what they refuse.
#include <memory>

#include "afore-serve/replay.h"
#include "host/sim_host.h"
#include "report/run_pictures.h"

namespace afore::serve {

// cli::resolve(), and what --topology has to say to it. Error{usage}.
cli::Setup resolve(const ServeFlags& flags, const std::optional<Header>& header, const std::string& default_policy);

host::SimOptions sim_options(const ServeFlags& flags, const cli::Setup& setup);

// An aggregate of counts is not a sequence of targets: Error{data}.
void refuse_aggregate(const std::optional<Header>& header);

// Once the first target shows the number of experts. Error{usage} when the number per token is unknown.
void complete_model(cli::Setup& setup, int experts);

// A header for a stream that has none.
Header made_header(const ServeFlags& flags);

// The header that the output of a run has, for its report: the input's with what the run gains.
Header run_header(const Header& input, const Header& gained);

// What --goodput promised, as lines in the report.
report::ViewOptions view_options(const RequestFlags& flags);

}  // namespace afore::serve
