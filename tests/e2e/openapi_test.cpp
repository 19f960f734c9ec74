// docs/openapi.json is held to the program: it is served as it stands, it is valid OpenAPI 3.1,
// every answer here fits it, and every status it promises is seen here.
#include <fstream>
#include <sstream>

#include "pawl/types/json.hpp"
#include "src/core/sha256.hpp"
#include "tests/e2e/key_api_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

const std::string source = PAWL_SOURCE_DIR;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class OpenApiTest : public GatewayTest {
 protected:
  OpenApiTest() : GatewayTest(StoreKind::postgres) {}

  ServeProcess& node(const std::string& lines, const std::string& policy = "") {
    return start({.policy = policy, .top = "", .rest = tenants() + key_api(lines, "\"tenant-a\"")});
  }
  static std::string tenants() {
    return api_keys({{"tenant-a", "secret-of-a"}, {"tenant-b", "secret-of-b"}});
  }

  HttpAnswer note(const std::string& path, const std::string& method, const HttpAnswer& answer,
                  const std::string& sent = "") {
    std::string headers;
    for (auto [name, value] : answer.headers) {
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      headers += (headers.empty() ? "" : ",") + json::quote(name) + ":" + json::quote(value);
    }
    answers_ << R"({"path":)" << json::quote(path) << R"(,"method":)" << json::quote(method)
             << R"(,"status":)" << answer.status << R"(,"type":)"
             << json::quote(answer.value("Content-Type")) << R"(,"headers":{)" << headers
             << R"(},"body":)" << json::quote(answer.body);
    if (!sent.empty()) answers_ << R"(,"sent":)" << json::quote(sent);
    answers_ << "}\n";
    return answer;
  }
  HttpAnswer ask(const ServeProcess& gateway, const std::string& verb, const std::string& body,
                 const std::string& credential = "secret-of-a", const std::string& key = job) {
    return note("/_pawl/v1/keys/{key}/" + verb, "post", call(gateway, verb, body, key, credential),
                body);
  }
  HttpAnswer see(const ServeProcess& gateway, const std::string& credential = "secret-of-a",
                 const std::string& query = "?api=true") {
    WireHeaders headers;
    if (!credential.empty()) headers.push_back({"Authorization", credential});
    return note("/_pawl/v1/keys/{key}", "get",
                get(gateway.port(), "/_pawl/v1/keys/" + job + query, headers));
  }
  void without_json(const ServeProcess& gateway, const std::string& verb) {
    Post form{.key = "", .body = "a=b", .path = "/_pawl/v1/keys/" + job + "/" + verb};
    form.headers = {{"Authorization", "secret-of-a"}};
    note("/_pawl/v1/keys/{key}/" + verb, "post", post(gateway.port(), form));
  }

  // A source that tells of payments by webhook.
  [[nodiscard]] std::string webhook() const {
    const std::string file = folder() / "secret";
    std::ofstream(file) << webhook_secret;
    return "[[source]]\nname = \"bank\"\n[source.webhook]\nscheme = \"hmac\"\n"
           "header = \"X-Signature\"\nsecret_files = [\"" +
           file +
           "\"]\nevent_id = \"/id\"\nkey = \"/key\"\nscope = \"caller:tenant-a\"\n"
           "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n";
  }
  HttpAnswer tell(const ServeProcess& gateway, const std::string& body,
                  const WireHeaders& headers = {}, const std::string& to = "bank") {
    Post told{.key = "", .body = body, .path = "/_pawl/v1/webhooks/" + to};
    told.headers = headers;
    told.headers.push_back({"Content-Type", "application/json"});
    told.headers.push_back({"X-Signature", hex(hmac_sha256(webhook_secret, body))});
    return note("/_pawl/v1/webhooks/{source}", "post", post(gateway.port(), told), body);
  }

  const std::string webhook_secret = "whsec_0123456789abcdef";
  const std::vector<std::string> verbs{"reserve", "advance", "complete", "release", "renew"};
  const std::string first = R"({"owner":"consumer-token-0001","request":{"amount":100}})";
  const std::string other = R"({"owner":"consumer-token-0002","request":{"amount":100}})";
  std::ostringstream answers_;
};

// The answers that the document is held to, one kind after the other.
class OpenApi : public OpenApiTest {
 protected:
  // Refused before anything is looked up.
  void ask_in_vain(const ServeProcess& gateway, const ServeProcess& small,
                   const ServeProcess& off) {
    const std::string large =
        R"({"owner":"consumer-token-0001","request":")" + std::string(200, 'x') + "\"}";
    for (const std::string& verb : verbs) {
      ask(off, verb, first);
      ask(gateway, verb, first, "");
      ask(gateway, verb, first, "secret-of-b");
      ask(gateway, verb, "{}");
      ask(small, verb, large);
      without_json(gateway, verb);
    }
    see(gateway, "");
    see(gateway, "secret-of-b");
    see(gateway, "secret-of-a", "?api=no");
    see(gateway);  // 404
  }

  // Sent back to us by what we have forwarded to. The headers that say so.
  WireHeaders ask_in_a_loop(const ServeProcess& gateway) {
    get(gateway.port(), "/x", {{"Authorization", "secret-of-a"}});
    const WireHeaders looping{{"Via", upstream.requests().at(0).header("Via").value_or("")}};
    for (const char* path : {"/_pawl/v1/policy", "/_pawl/v1/openapi.json"}) {
      note(path, "get", get(gateway.port(), path, looping));
    }
    note("/_pawl/v1/keys/{key}", "get", get(gateway.port(), "/_pawl/v1/keys/" + job, looping));
    for (const std::string& verb : verbs) {
      Post again{.key = "", .body = first, .path = "/_pawl/v1/keys/" + job + "/" + verb};
      again.headers = looping;
      note("/_pawl/v1/keys/{key}/" + verb, "post", post(gateway.port(), again));
    }
    return looping;
  }

  // One key's life. How its first owner speaks of it.
  std::string live(const ServeProcess& gateway) {
    const HttpAnswer granted = ask(gateway, "reserve", first);
    const std::string held = R"({"owner":"consumer-token-0001","fence":)" + fence_of(granted);
    see(gateway);
    ask(gateway, "reserve", other);
    ask(gateway, "reserve", R"({"owner":"consumer-token-0002","fingerprint":"another"})");
    ask(gateway, "advance", held + R"(,"after":"","recovery_point":"charged"})");
    ask(gateway, "renew", held + "}");
    ask(gateway, "release", held + R"(,"reason":"closed"})");
    for (const std::string verb : {"advance", "renew"}) {
      const std::string more =
          verb == "advance" ? R"(,"after":"charged","recovery_point":"x"})" : "}";
      EXPECT_EQ(ask(gateway, verb, held + more).status, 409);
      EXPECT_EQ(ask(gateway, verb, held + more, "secret-of-a", "no-such-key-at-all").status, 404);
    }
    const HttpAnswer next = ask(gateway, "reserve", other);
    const std::string holds = R"({"owner":"consumer-token-0002","fence":)" + fence_of(next);
    const std::string body =
        R"(,"response":{"status":201,"headers":[["X-A","b"]],"body_base64":"/w=="}})";
    ask(gateway, "complete", holds + body);
    for (const char* verb : {"complete", "release"}) {
      EXPECT_EQ(ask(gateway, verb, held + "}").status, 409);
      EXPECT_EQ(ask(gateway, verb, held + "}", "secret-of-a", "no-such-key-at-all").status, 404);
    }
    EXPECT_EQ(ask(gateway, "reserve", first).status, 200);
    see(gateway);
    return held;
  }

  // What providers tell.
  void tell_all(const ServeProcess& told, const ServeProcess& gateway, const WireHeaders& looping) {
    EXPECT_EQ(tell(told, paid).status, 200);
    EXPECT_EQ(tell(told, paid).status, 200);
    EXPECT_EQ(tell(told, R"({"id":"e2","type":"another"})").status, 200);
    EXPECT_EQ(tell(told, R"({"id":"e2","type":"paid"})").status, 422);
    EXPECT_EQ(tell(told, paid, {}, "nobody").status, 404);
    EXPECT_EQ(tell(told, "\"" + std::string(200, 'x') + "\"").status, 413);
    EXPECT_EQ(tell(gateway, paid, looping).status, 508);
    Post forged{.key = "", .body = paid, .path = "/_pawl/v1/webhooks/bank"};
    EXPECT_EQ(note("/_pawl/v1/webhooks/{source}", "post", post(told.port(), forged)).status, 401);
  }

  void exceed_limits(const ServeProcess& small, const ServeProcess& gateway) {
    EXPECT_TRUE(until([&] { return see(small).status == 429; }));
    ask(small, "reserve", first, "secret-of-a", "a-first-new-key-1");
    EXPECT_EQ(ask(small, "reserve", first, "secret-of-a", "a-second-new-key-1").status, 429);
    EXPECT_TRUE(until([&] {
      return ask(gateway, "complete", R"({"owner":"consumer-token-0003","fence":1})").status == 429;
    }));
  }

  // The end of a key.
  void expire(const ServeProcess& brief) {
    const std::string late = "a-key-that-expires";
    const HttpAnswer last = ask(brief, "reserve", first, "secret-of-a", late);
    ask(brief, "complete", R"({"owner":"consumer-token-0001","fence":)" + fence_of(last) + "}",
        "secret-of-a", late);
    const WireHeaders as_a{{"Authorization", "secret-of-a"}};
    EXPECT_TRUE(
        until([&] { return ask(brief, "reserve", other, "secret-of-a", late).status == 410; }));
    EXPECT_EQ(note("/_pawl/v1/keys/{key}", "get",
                   get(brief.port(), "/_pawl/v1/keys/" + late + "?api=true", as_a))
                  .status,
              410);
  }

  void ask_without_store(const ServeProcess& gateway, const ServeProcess& told,
                         const std::string& held) {
    shared_postgres().stop();
    for (int i = 0; i < 6; ++i) ask(gateway, "reserve", first);  // until the breaker is open
    for (const std::string& verb : verbs) {
      const std::string more =
          verb == "advance" ? R"(,"after":"charged","recovery_point":"x"})" : "}";
      EXPECT_EQ(ask(gateway, verb, verb == "reserve" ? first : held + more).status, 503) << verb;
    }
    EXPECT_EQ(see(gateway).status, 503);
    EXPECT_EQ(tell(told, paid).status, 503);
    shared_postgres().start();
  }

  // Every answer fits the document, and every status of the document was seen.
  void check_answers() {
    const testing::TemporaryFolder folder_of_npm;
    for (const char* const name : {"check.js", "package.json", "package-lock.json"}) {
      std::filesystem::copy(source + "/tests/openapi/" + name, folder_of_npm.path());
    }
    const testing::Finished installed =
        testing::run_program({PAWL_NPM, "ci", "--prefer-offline", "--no-audit", "--no-fund",
                              "--prefix", folder_of_npm.path()});
    ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
    const std::string answers = folder_of_npm.path() / "answers";
    std::ofstream(answers) << answers_.str();
    const testing::Finished checked = testing::run_program(
        {PAWL_NODE, folder_of_npm.path() / "check.js", source + "/docs/openapi.json", answers});
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  }

  const std::string paid = R"({"id":"e1","type":"paid","key":"0123456789abcdef"})";
};

TEST_F(OpenApi, IsServedAsItStandsInTheDocumentation) {
  ServeProcess& gateway = start();
  const HttpAnswer served = get(gateway.port(), "/_pawl/v1/openapi.json");
  EXPECT_EQ(served.status, 200);
  EXPECT_EQ(served.value("Content-Type"), "application/json");
  EXPECT_EQ(served.body, text_of(source + "/docs/openapi.json"));
}

TEST_F(OpenApi, SaysWhatTheProgramAnswersAndNothingElse) {
  ServeProcess& gateway = node("");
  ServeProcess& small = node(
      "body_limit = 100\nnew_keys_per_second = 0.001\n"
      "lookups_per_second = 0.001\n");
  ServeProcess& brief = node("retention = \"1s\"\nexpired = \"tombstone\"\n");
  ServeProcess& off = start({.policy = "", .top = "", .rest = tenants()});
  for (const char* path : {"/_pawl/v1/policy", "/_pawl/v1/openapi.json"}) {
    note(path, "get", get(gateway.port(), path));
  }
  ask_in_vain(gateway, small, off);
  const WireHeaders looping = ask_in_a_loop(gateway);
  const std::string held = live(gateway);
  ServeProcess& told =
      start({.policy = "body_limit = 100\n", .top = "", .rest = tenants() + webhook()});
  tell_all(told, gateway, looping);
  exceed_limits(small, gateway);
  expire(brief);
  ask_without_store(gateway, told, held);
  check_answers();
}

}  // namespace
}  // namespace pawl::e2e
