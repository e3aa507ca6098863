#pragma once
// Hands a small blob (NCCL's 128-byte unique id) from rank 0 to every rank, and is a barrier: it returns where every
// rank has the blob, and throws Error{io} that says what went wrong, on every rank that can still be told. The ranks
// may start in any order. A world of one rank returns at once and touches nothing.
//
// Over TCP. Rank 0 listens; the others connect, again and again while they are refused. Frames, integers little-endian:
//   8 bytes "AFORERV1", u32 kind, u32 payload bytes (64 KiB at most), payload
//   1 greeting  rank n -> 0  u32 world size, u32 rank, u32 blob bytes, u32 patience in ms, u64 nonce, the job token
//   2 blob      0 -> rank n  the blob
//   3 received  rank n -> 0  -
//   4 complete  0 -> rank n  -        every rank has the blob
//   5 failed    0 -> rank n  text     what both sides then throw: who is missing, or what does not fit
// - Patience is what the sender's deadline leaves. Rank 0 gives up at the earliest deadline of those who came, early
//   enough to tell the others who is missing before they give up themselves.
// - A greeting with another job token is refused and changes nothing. One of this job with another world size, rank out
//   of range or other blob size ends the exchange: the job was started wrongly.
// - A rank that comes again replaces its first connection where the nonce is the same, or where the first has closed.
//   Two living processes with one rank end the exchange.
// - Whoever has not sent a whole greeting within `greeting_timeout`, or sends anything else, is cut off.
// The token and the magic keep out mistakes, not attackers: the network is trusted, as NCCL's own traffic needs it to
// be. A host name is looked up by the system's resolver, which knows no deadline.
//
// Through a file that all ranks see. Files are written under another name in the same folder and renamed:
//   PATH          rank 0's offer: a frame of kind 6: u64 nonce, u32 world size, u32 token bytes, token, blob
//   PATH.rankN    rank n's answer: a frame of kind 7: u64 nonce of the offer, then a greeting's payload
//   PATH.verdict  rank 0: a frame of kind 8: u32 world size, u64 nonce of every rank (of rank 0: its offer's), text
// A verdict counts only where it repeats the reader's own nonce, so no file of an older run can be taken for one of
// this run, even under the same token; offers with another token are passed over. Each rank removes its answer when it
// has read the verdict; rank 0 removes everything at the end, also when it fails.
//
// What cannot be had: a rank that dies after rank 0 has counted it is not missed here, only by the next step.
#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "device/cuda/sockets.h"

namespace afore::device::cuda {

struct RendezvousConfig {
  int rank = 0;
  int world_size = 1;
  std::string job_token;  // LaunchEnv::job_token, or what the caller knows of the job; the same on all ranks
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds greeting_timeout{5'000};
};

constexpr std::size_t kMaxBlobBytes = 4096;

// `blob` is read on rank 0 and written on the others, where it is untouched if the call throws. Its size is the same on
// all ranks. `host` is rank 0's, a name or an address; rank 0 itself listens on all addresses of its host.
void exchange_over_tcp(const RendezvousConfig& config, const std::string& host, int port, std::span<std::byte> blob);
// Rank 0 with a port that it holds already.
void exchange_over_tcp(const RendezvousConfig& config, Listener& listener, std::span<const std::byte> blob);

void exchange_through_file(const RendezvousConfig& config, const std::string& path, std::span<std::byte> blob);

}  // namespace afore::device::cuda
