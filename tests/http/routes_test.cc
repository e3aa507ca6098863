// What each route answers, and to whom.
#include <nlohmann/json.hpp>

#include "harness.h"

namespace afore::http {
namespace {

using nlohmann::json;

class Routes : public ServerTest {};

TEST_F(Routes, GetRoutesAnswer) {
  serve();
  Client c = client();
  EXPECT_EQ(c.get("/health").status, 200);
  EXPECT_EQ(json::parse(c.get("/health/ready").body), json({{"ready", true}}));
  const Response metrics = c.get("/metrics");
  EXPECT_EQ(metrics.field("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(metrics.body.find("afore_fake 1"), std::string::npos);
  EXPECT_EQ(c.get("/v1/afore/placement").body, "{\"layers\":[]}");
  const json models = json::parse(c.get("/v1/models?limit=1").body);
  EXPECT_EQ(models["data"][0]["id"], "fake");
  EXPECT_EQ(models["data"][0]["root"], "fake");
  EXPECT_EQ(models["data"][0]["max_model_len"], 64);
  EXPECT_TRUE(json::parse(c.get("/get_server_info").body)["internal_states"][0].is_object());
  EXPECT_EQ(c.post("/flush_cache", "").status, 200);
}

TEST_F(Routes, ReadyTellsWhyNot) {
  backend_.reason = "the model is being loaded";
  serve();
  const Response response = client().get("/health/ready");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(json::parse(response.body), json({{"ready", false}, {"reason", "the model is being loaded"}}));
}

TEST_F(Routes, HeadIsGetWithoutTheBody) {
  serve();
  Client c = client();
  for (const std::string path : {"/health", "/v1/models", "/metrics", "/v1/afore/demand"}) {
    c.send("HEAD " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const Response head = c.read(true);
    EXPECT_EQ(head.status, 200) << path;
    if (path != "/v1/afore/demand") {
      EXPECT_EQ(head.field("content-length"), std::to_string(c.get(path).body.size())) << path;
    }
  }
  EXPECT_EQ(c.get("/health").status, 200);
}

TEST_F(Routes, UnknownPathsAndMethods) {
  serve();
  Client c = client();
  const Response nowhere = c.get("/v1/modelz");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(json::parse(nowhere.body)["error"]["type"], "not_found_error");
  const Response get = c.get("/v1/completions");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.field("allow"), "POST");
  c.send("DELETE /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
  const Response removal = c.read();
  EXPECT_EQ(removal.status, 405);
  EXPECT_EQ(removal.field("allow"), "GET, HEAD");
  EXPECT_EQ(c.get("/health").status, 200);  // the connection is kept
}

TEST_F(Routes, AbsoluteTargetsAreKnown) {
  serve();
  Client c = client();
  EXPECT_EQ(c.get("http://x/health").status, 200);
  EXPECT_EQ(c.get("http://x").status, 404);
}

TEST_F(Routes, TokenGuardsAllButHealth) {
  serve({}, "sesame");
  Client c = client();
  EXPECT_EQ(c.get("/health").status, 200);
  const std::string right = "Authorization: Bearer sesame\r\n";
  for (const std::string path : {"/health/ready", "/metrics", "/v1/models", "/v1/afore/demand", "/v1/afore/placement",
                                 "/get_server_info", "/nowhere"}) {
    const Response refused = c.get(path);
    EXPECT_EQ(refused.status, 401) << path;
    EXPECT_EQ(refused.field("www-authenticate"), "Bearer") << path;
    EXPECT_EQ(json::parse(refused.body)["error"]["type"], "authentication_error") << path;
    if (path != "/v1/afore/demand") {
      EXPECT_NE(c.get(path, right).status, 401) << path;
    }
  }
  for (const char* wrong : {"Bearer", "Bearer ", "Bearer sesam", "Bearer sesamesesame", "Bearer Sesame", "Basic sesame",
                            "sesame", "Bearer sesame x", "Bearer ssssss"}) {
    EXPECT_EQ(c.get("/v1/models", std::string("Authorization: ") + wrong + "\r\n").status, 401) << wrong;
  }
  EXPECT_EQ(c.get("/v1/models", "Authorization: bearer  sesame\r\n").status, 200);
}

TEST_F(Routes, BodiesOfStrangersAreNotRead) {
  serve({}, "sesame");
  Client c = client();
  c.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(c.read().status, 401);
  EXPECT_TRUE(c.closes());
}

TEST_F(Routes, PagesOfBrowsersNeedAToken) {
  serve();
  EXPECT_EQ(client().get("/v1/models", "Origin: http://elsewhere.example\r\n").status, 403);
  EXPECT_EQ(client().post("/v1/afore/freeze", "{\"frozen\":true}", "Origin: null\r\n").status, 403);
  EXPECT_FALSE(backend_.is_frozen);
}

TEST_F(Routes, RequestIdsAreEchoedOrMade) {
  serve();
  Client c = client();
  EXPECT_EQ(c.get("/health", "X-Request-Id: run 7/a\r\n").field("x-request-id"), "run 7/a");
  const std::string made = c.get("/health").field("x-request-id");
  EXPECT_EQ(made.size(), 32u);
  EXPECT_NE(c.get("/health").field("x-request-id"), made);
  EXPECT_EQ(c.get("/health", "X-Request-Id: " + std::string(128, 'a') + "\r\n").field("x-request-id"),
            std::string(128, 'a'));
  EXPECT_EQ(c.get("/health", "X-Request-Id: " + std::string(129, 'a') + "\r\n").field("x-request-id").size(), 32u);
  EXPECT_EQ(c.get("/health", "X-Request-Id: a\tb\r\n").field("x-request-id").size(), 32u);
  EXPECT_EQ(c.get("/nowhere", "X-Request-Id: lost\r\n").field("x-request-id"), "lost");
}

TEST_F(Routes, AnswersSayNothingOfWhatIsInside) {
  backend_.throws = true;
  serve();
  const Response response = client().post("/v1/completions", R"({"prompt":"a"})");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.field("server"), "afore");
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
  ASSERT_EQ(logged().size(), 1u);
  EXPECT_NE(logged()[0].find("a secret of"), std::string::npos);
  for (const auto& [name, value] : response.fields) {
    EXPECT_EQ(value.find("oost"), std::string::npos) << name;
    EXPECT_NE(name, "access-control-allow-origin");
  }
}

TEST_F(Routes, FreezeAndPolicy) {
  serve();
  Client c = client();
  EXPECT_EQ(c.post("/v1/afore/freeze", R"({"frozen":true})").status, 200);
  EXPECT_TRUE(backend_.is_frozen);
  EXPECT_EQ(c.post("/v1/afore/freeze", R"({"frozen":1})").status, 400);
  EXPECT_EQ(c.post("/v1/afore/policy", R"({"policy":"afore"})").status, 200);
  EXPECT_EQ(backend_.policy(), "afore");
  const Response unknown = c.post("/v1/afore/policy", R"({"policy":"best"})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(json::parse(unknown.body)["error"]["message"], "there is no policy 'best'");
  EXPECT_EQ(json::parse(unknown.body)["error"]["param"], "policy");
}

TEST_F(Routes, TokenizeAndBack) {
  backend_.has_template = true;
  serve();
  Client c = client();
  EXPECT_EQ(json::parse(c.post("/tokenize", R"({"prompt":"ab"})").body),
            json({{"count", 2}, {"max_model_len", 64}, {"tokens", {97, 98}}}));
  const json chat = json::parse(c.post("/tokenize", R"({"messages":[{"role":"user","content":"a"}]})").body);
  EXPECT_EQ(chat["count"], 7);  // [user]a
  EXPECT_EQ(json::parse(c.post("/detokenize", R"({"tokens":[97,98]})").body)["prompt"], "ab");
  EXPECT_EQ(c.post("/detokenize", R"({"tokens":[256]})").status, 400);
  EXPECT_EQ(c.post("/tokenize", R"({"prompt":"a","model":"other"})").status, 404);
}

}  // namespace
}  // namespace afore::http
