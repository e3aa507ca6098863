#pragma once
// What one client, or all of them together, may take of the server.
#include <chrono>
#include <cstddef>

namespace afore::http {

struct Limits {
  using Seconds = std::chrono::duration<double>;

  // A thousand streams and as many probes, with room: a process usually may open 1,024 files, but servers raise that.
  // Where it may not, accepting waits until one is closed.
  std::size_t connections = 4096;

  // What Apache and nginx take: clients of models send some 500 bytes.
  std::size_t request_line_bytes = 4096;
  std::size_t header_bytes = 8192;  // with the request line
  std::size_t header_fields = 100;
  Seconds header_time{10};  // from the first byte or the accept to the empty line, whatever trickles in between
  Seconds idle_time{75};    // between requests; clients keep connections for less, so they close first

  // A context of a million tokens as text is some 4 MiB, as ids 7 MiB.
  std::size_t body_bytes = std::size_t{16} << 20;
  Seconds body_time{20};           // and then at the rate below: Apache's mod_reqtimeout
  double body_bytes_per_s = 1000;  // each second of grace costs so many bytes
  // Of bodies beyond the first `small_body_bytes` of each, all connections together: memory stays bounded by this and
  // connections * small_body_bytes.
  std::size_t all_bodies_bytes = std::size_t{256} << 20;
  std::size_t small_body_bytes = 64 << 10;
  // Bytes of chunked framing for every byte of body: one-byte chunks take six.
  std::size_t framing_factor = 8;

  // Requests sent ahead: beyond them nothing more is read until those before are answered.
  std::size_t pipelined_bytes = 64 << 10;
  // A reader of text who is 1 MiB behind has stopped reading: that is thousands of tokens.
  std::size_t stream_bytes = std::size_t{1} << 20;
  std::size_t record_bytes = std::size_t{8} << 20;  // some seconds of live records
  Seconds write_time{30};                           // in which a write moves at least a byte
  Seconds linger_time{2};                           // for the client to read why it was refused, before the reset

  // Bodies that wait to be read or are: 64 of ordinary size take some ms, beyond that saying 429 is faster.
  std::size_t jobs = 64;
  int job_threads = 2;
};

}  // namespace afore::http
