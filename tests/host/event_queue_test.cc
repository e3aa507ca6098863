#include "host/event_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace afore::host {
namespace {

TEST(EventQueue, TimeEndsBeforeItWraps) {
  EventQueue<int> queue;
  queue.push((Nanos{1} << 62) - 1, 1);
  std::string message;
  try {
    queue.push(Nanos{1} << 62, 2);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    message = error.what();
  }
  EXPECT_EQ(message, "simulated time is beyond 2^62 ns");
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace afore::host
