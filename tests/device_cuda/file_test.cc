// Ranks that meet through a file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "device/cuda/rendezvous_frame.h"
#include "processes.h"

namespace afore::device::cuda {
namespace {

using std::chrono::milliseconds;

class File : public ::testing::Test {
 protected:
  File() {
    std::string name = ::testing::TempDir() + "rendezvousXXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/id";
  }
  ~File() override { std::filesystem::remove_all(folder_); }

  std::string meet(const RendezvousConfig& config) const {
    return outcome(config.rank, [&](std::span<std::byte> blob) { exchange_through_file(config, path_, blob); });
  }
  std::vector<std::string> meet_all(int world_size) const {
    std::vector<Process> ranks;
    for (int rank = world_size - 1; rank >= 0; --rank)
      ranks.emplace_back([this, rank, world_size] { return meet(config_of(rank, world_size)); });
    std::vector<std::string> said;
    for (Process& rank : ranks) said.push_back(rank.wait());
    return said;
  }
  bool folder_is_empty() const { return std::filesystem::is_empty(folder_); }
  void put(const std::string& suffix, const std::string& bytes) const {
    std::ofstream(path_ + suffix, std::ios::binary) << bytes;
  }

  std::string folder_, path_;
};

TEST_F(File, EveryProcessGetsTheBlobAndNothingIsLeft) {
  for (const int world_size : {1, 2, 8, 64}) {
    EXPECT_EQ(meet_all(world_size), std::vector<std::string>(static_cast<std::size_t>(world_size), "ok"));
    EXPECT_TRUE(folder_is_empty());
  }
}

TEST_F(File, WhoIsMissingIsSaidToAll) {
  std::vector<Process> others;
  for (const int rank : {1, 3}) others.emplace_back([this, rank] { return meet(config_of(rank, 5)); });
  const std::string why = "ranks 2, 4 did not come within 2 s";
  EXPECT_EQ(meet(config_of(0, 5, milliseconds(2000))), why);
  for (Process& other : others) EXPECT_EQ(other.wait(), why);
  EXPECT_TRUE(folder_is_empty());
}

// Even where everything of an older run under the same name and token lies there, verdict included.
TEST_F(File, AStaleExchangeIsNotTaken) {
  const std::string old_blob(128, 'o');
  put("", encode(Frame{FrameKind::offer, encode(Offer{5, 2, "job 1", old_blob})}));
  put(".rank1", encode(Frame{FrameKind::answer, encode(Answer{5, Greeting{2, 1, 128, 60'000, 6, "job 1"}})}));
  put(".verdict", encode(Frame{FrameKind::verdict, encode(Verdict{{5, 6}, ""})}));
  EXPECT_EQ(meet(config_of(1, 2, milliseconds(200))),
            "rank 0 did not say at " + path_ + " within 0.2 s whether all ranks came");
  EXPECT_EQ(meet_all(2), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(File, AnotherJobsFileIsPassedOver) {
  put("", encode(Frame{FrameKind::offer, encode(Offer{5, 2, "job 0", std::string(128, 'o')})}));
  EXPECT_EQ(meet(config_of(1, 2, milliseconds(100))),
            "rank 0 did not come within 0.1 s (" + path_ + ": the file there is of job 'job 0', this is job 'job 1')");
  EXPECT_EQ(meet_all(3), std::vector<std::string>(3, "ok"));
}

TEST_F(File, GarbageIsPassedOver) {
  put("", "not ours");
  put(".rank1", "not ours");
  put(".rankx", "left alone");
  put(".verdict", "");
  EXPECT_EQ(meet(config_of(1, 2, milliseconds(100))), "rank 0 did not come within 0.1 s (" + path_ + ": no such file)");
  EXPECT_EQ(meet_all(2), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".rankx"));
}

TEST_F(File, AnotherWorldSizeIsNamedOnBothSides) {
  Process other([this] { return meet(config_of(3, 4)); });
  const std::string why = "rank 3 was started in a world of 4 ranks, and rank 0 in one of 2";
  EXPECT_EQ(meet(config_of(0, 2)), why);
  EXPECT_EQ(other.wait(), why);
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(File, AFolderThatCannotBeWritten) {
  put("", "a file, no folder");
  path_ += "/id";
  for (const int rank : {0, 1}) {
    const std::string said = meet(config_of(rank, 2));
    EXPECT_NE(said.find(path_), std::string::npos) << said;
    EXPECT_NE(said.find("Not a directory"), std::string::npos) << said;
  }
  path_ = folder_ + "/missing/id";
  EXPECT_NE(meet(config_of(0, 2)).find("No such file or directory"), std::string::npos);
  if (::geteuid() == 0) return;  // root may write everywhere
  path_ = folder_ + "/id2";
  ::chmod(folder_.c_str(), 0500);
  EXPECT_NE(meet(config_of(0, 2)).find("Permission denied"), std::string::npos);
  ::chmod(folder_.c_str(), 0700);
}

}  // namespace
}  // namespace afore::device::cuda
