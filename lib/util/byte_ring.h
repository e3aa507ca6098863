#pragma once
// Messages of bytes from one producer to N readers over memory that threads or processes of one machine share: each is
// written once, every reader has its own cursor, and nothing is overwritten before every live reader has copied it out.
// Readers sleep on a word of their own; nobody spins, as there are more readers than cores.
//
// Memory: geometry and counters, a line per reader, then cells of equal size. A message takes as many cells in a row as
// it needs, around the end of the ring where it must. Nothing in the memory is trusted: no index leaves the cells
// whatever the counters say, a message has a CRC-32C of its head, and whoever reads its bytes checks that of the bytes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace afore {

struct ByteRingOptions {
  int readers = 1;
  int cells = 256;
  std::size_t cell_bytes = 1024;  // a multiple of 64
};

class ByteRing {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kAlignment = 64;

  // In front of a message's bytes, in its first cell.
  struct Head {
    std::uint32_t magic = 0, version = 0;
    std::uint64_t cell = 0;  // counted from the first one ever: what stood here a lap ago is not taken for it
    std::int64_t epoch = 0, serial = 0;
    std::uint32_t bytes = 0, bytes_crc = 0;
    std::uint32_t reserved = 0, head_crc = 0;  // of all before it
  };

  // A reader's cells: those it has done with end at `done`, those to look at are [at, end).
  struct Range {
    std::uint64_t done = 0, at = 0, end = 0;
  };

  static std::size_t memory_bytes(const ByteRingOptions& options);
  // An empty ring in `memory`, which stays the caller's, is aligned to kAlignment, and outlives this object and all
  // others on it.
  ByteRing(std::span<std::byte> memory, const ByteRingOptions& options);
  // The ring that stands in `memory`. Error{data} where there is none, or one that does not fit it.
  static ByteRing attach(std::span<std::byte> memory);
  ByteRing(ByteRing&& other) noexcept;
  ByteRing& operator=(ByteRing&&) = delete;
  ~ByteRing();

  const ByteRingOptions& options() const { return options_; }
  std::uint64_t cells_for(std::size_t message_bytes) const;

  // The producer's, one thread of all processes.
  // False: a live reader still needs the room. Error{data} for a message that would not fit an empty ring.
  bool publish(std::string_view bytes, std::int64_t epoch, std::int64_t serial);
  // What was published and not taken is void; a reader gives its room back with its next finish().
  void clear();
  // The reader is waited for no longer.
  void lose(int reader);
  // Sleeps until a reader freed room that publish() had found missing, after room_word() was read; may also return for
  // no reason. False: not before the deadline.
  std::uint32_t room_word() const;
  bool wait_for_room(std::uint32_t seen, Deadline deadline);
  // The live reader that has most left to take; -1 when there is none.
  int slowest() const;

  // A reader's, one thread each.
  bool lost(int reader) const;
  // Error{data} when the ring's counters are damaged.
  Range range(int reader) const;
  // Whether a whole head stands at range.at.
  bool read_head(const Range& range, Head& head) const;
  // Behind a cell without a whole head: to the next one that has one.
  void skip_damaged(Range& range) const;
  // Bytes behind the head that was read at range.at.
  void copy_out(const Range& range, const Head& head, char* to) const;
  // Cells before range.at are done with. True: the producer had found no room and may try again.
  bool finish(int reader, const Range& range);
  // Sleeps until something was published or cleared, or the reader poked or lost, since the last wait() returned; may
  // also return for no reason. So: look at everything, then wait. False: nothing came before the deadline; time_point's
  // max() is none.
  bool wait(int reader, Deadline deadline);

  // Anybody's: ends the reader's wait, or its next one.
  void poke(int reader);

 private:
  struct Control;
  struct Line;
  struct Seen;  // of a reader, in its own process

  ByteRing(std::byte* memory, const ByteRingOptions& options, Control* control);
  bool has_room(std::uint64_t cells_needed) const;
  void poke_all();
  void put(std::uint64_t cell, std::size_t offset, const void* from, std::size_t bytes);
  void get(std::uint64_t cell, std::size_t offset, void* to, std::size_t bytes) const;

  ByteRingOptions options_;
  Control* control_;
  Line* lines_;       // by reader
  std::byte* cells_;  // options_.cells of options_.cell_bytes
  std::vector<Seen> seen_;
};

}  // namespace afore
