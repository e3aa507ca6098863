// Live records.
#include "harness.h"

namespace afore::http {
namespace {

using std::chrono::milliseconds;

class Records : public ServerTest {};

TEST_F(Records, ComeAsTheyAreTold) {
  serve();
  Client c = client();
  c.send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(c.until("\r\n\r\n").find("content-type: application/x-ndjson"), std::string::npos);
  EXPECT_NE(c.until("\"header\"}\n").find("{\"kind\":\"header\"}\n"), std::string::npos);
  backend_.subscribers(1);
  backend_.tell("{\"n\":1}\n{\"n\":2}\n");
  EXPECT_NE(c.until("2}\n\r\n").find("{\"n\":1}\n{\"n\":2}\n\r\n"), std::string::npos);
}

TEST_F(Records, ManyReaders) {
  serve();
  std::vector<Client> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(client());
    readers.back().send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ASSERT_EQ(backend_.subscribers(20), 20u);
  for (int i = 0; i < 100; ++i) backend_.tell("line " + std::to_string(i) + "\n");
  for (Client& reader : readers) {
    const std::string all = reader.until("line 99\n");
    std::size_t at = 0;
    for (int i = 0; i < 100; ++i) {
      at = all.find("line " + std::to_string(i) + "\n", at);
      ASSERT_NE(at, std::string::npos) << i;
    }
  }
}

TEST_F(Records, TheModelIsToldWhenAReaderIsGone) {
  serve();
  {
    Client c = client();
    c.send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
    backend_.subscribers(1);
  }
  for (int i = 0; i < 200 && backend_.subscribers(0) > 0; ++i) {
    backend_.tell("line\n");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(backend_.subscribers(0), 0u);
}

TEST_F(Records, ReadersWhoFallBehindAreCutOff) {
  serve();
  Client slow = client(4096), quick = client();
  for (Client* c : {&slow, &quick}) c->send("GET /v1/afore/demand HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(backend_.subscribers(2), 2u);
  const std::string line = std::string(99'999, 'a') + "\n";
  int told = 0;
  for (; told < 1000 && backend_.subscribers(0) == 2; ++told) {
    backend_.tell(line);
    while (quick.more(0)) {
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(backend_.subscribers(0), 1u);
  EXPECT_GT(told, 60);  // the bound is 8 MiB
  EXPECT_LT(told, 400);
  std::printf("cut off after %d lines of 100 kB\n", told);
  while (slow.more(2000)) {
  }
  EXPECT_TRUE(slow.closes(100));
  backend_.tell("the end\n");
  EXPECT_NE(quick.until("the end\n").find("the end"), std::string::npos);
}

}  // namespace
}  // namespace afore::http
