// `pawl observe report`: what would have been decided, by route and caller.
#include "src/core/sha256.hpp"
#include "tests/e2e/observe_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two callers on a route of their own, and each kind of request.
class ObserveReport : public ObserveTest {
 protected:
  ServeProcess& start_for_callers() {
    const auto caller = [](const std::string& scope, const std::string& secret) {
      return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hex(sha256(secret)) +
             "\"\n";
    };
    return start({.policy = "mode = \"observe\"\nbody_limit = \"1KiB\"",
                  .top = "",
                  .rest = "[caller]\nfrom = \"api-key\"\n" + caller("tenant-a", "a") +
                          caller("tenant-b", "b") +
                          "[[route]]\nmatch = \"POST /payments\"\nname = \"payments\"\n"});
  }
  static Post as(Post post, const std::string& secret) {
    post.headers.emplace_back("Authorization", "Bearer " + secret);
    return post;
  }
  static bool sees_here(const ServeProcess& gateway, const std::string& would, int times) {
    return sees(gateway, would, times, "payments");
  }

  // A payment in flight, its duplicate, and its duplicate once it is done.
  void send_duplicates(const ServeProcess& gateway) {
    const auto gate = std::make_shared<Gate>();
    upstream.behave([gate, held = true](const ReceivedRequest&) mutable {
      const Behaviour paid = Behaviour::answer(201, "paid");
      return std::exchange(held, false) ? paid.after(gate) : paid;
    });
    RawClient first(gateway.port());
    first.send(to_bytes(as(payment, "a")));
    upstream.wait_for(1);
    EXPECT_TRUE(sees_here(gateway, "created", 1));
    EXPECT_EQ(post(gateway.port(), as(payment, "a")).status, 201);
    EXPECT_TRUE(sees_here(gateway, "in_progress", 1));
    gate->release();
    EXPECT_EQ(first.read_answer().status, 201);
    EXPECT_EQ(post(gateway.port(), as(payment, "a")).status, 201);
    EXPECT_TRUE(sees_here(gateway, "replay", 1));
  }

  void reuse_keys(const ServeProcess& gateway) {
    // The same key: for another request, and of another caller.
    post(gateway.port(), as(under(payment.key, R"({"amount":7})"), "a"));
    EXPECT_TRUE(sees_here(gateway, "key_misuse", 1));
    post(gateway.port(), as(payment, "b"));
    EXPECT_TRUE(sees_here(gateway, "created", 2));
    // The same payment under another key, a moment later.
    post(gateway.port(), as(under("another-key-0123456789", payment.body), "b"));
    EXPECT_TRUE(sees_here(gateway, "created", 3));
    EXPECT_EQ(metric(gateway, "pawl_near_duplicates_total{route=\"payments\"}"), 1);
  }

  // What would never have got as far as a key.
  void send_what_is_refused(const ServeProcess& gateway) {
    post(gateway.port(), as(under("", "{}"), "b"));
    post(gateway.port(), as(under("short", "{}"), "b"));
    post(gateway.port(), as(under("a-third-key-0123456789", "{"), "b"));
    post(gateway.port(), as(under("a-fourth-key-0123456789", std::string(2000, ' ')), "b"));
    post(gateway.port(), payment);
    for (const char* would :
         {"key_missing", "key_invalid", "body_invalid", "body_too_large", "unauthenticated"}) {
      EXPECT_TRUE(sees_here(gateway, would, 1)) << would;
    }
  }

  // The upstream hung up on the first: its outcome is unknown.
  void send_into_a_reset(const ServeProcess& gateway) {
    upstream.behave(Behaviour::reset());
    const Post doubtful = as(under("a-doubtful-key-0123456789", R"({"amount":9})"), "a");
    EXPECT_EQ(post(gateway.port(), doubtful).status, 502);
    upstream.behave(Behaviour::answer(201, "paid"));
    EXPECT_EQ(post(gateway.port(), doubtful).status, 201);
    EXPECT_TRUE(sees_here(gateway, "unknown", 1));
  }

  void expect_counts() const {
    for (const auto& [pointer, number] : std::vector<std::pair<std::string, int>>{
             {"/all/requests", 13},
             {"/all/with_key", 9},
             {"/all/near_duplicates", 1},
             {"/all/would/created", 4},
             {"/all/would/replay", 1},
             {"/all/would/in_progress", 1},
             {"/all/would/key_misuse", 1},
             {"/all/would/unknown", 1},
             {"/all/would/key_missing", 1},
             {"/all/would/key_invalid", 1},
             {"/all/would/body_invalid", 1},
             {"/all/would/body_too_large", 1},
             {"/all/would/unauthenticated", 1},
             {"/callers/1/counts/would/replay", 1},  // (unauthenticated), tenant-a, tenant-b
             {"/callers/2/counts/would/key_missing", 1},
             {"/callers/2/counts/near_duplicates", 1},
             {"/with_sync/upstream_calls_saved", 3},
             {"/with_sync/refused", 6}}) {
      EXPECT_EQ(reported(pointer), number) << pointer;
    }
  }

  void expect_text() const {
    const testing::Finished text = report();
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("\nroute payments\n"));
    EXPECT_THAT(text.out, HasSubstr("\ntenant-a "));
    EXPECT_THAT(text.out, HasSubstr("  3 upstream calls would have been saved\n"));
    EXPECT_THAT(text.out, HasSubstr("         1  missing key (400)\n"));
    EXPECT_THAT(text.out, Not(HasSubstr(payment.key))) << "a key in clear";
    EXPECT_THAT(report({"--json"}).out, Not(HasSubstr(payment.key)));
  }
};

TEST_P(ObserveReport, ReportsEachKindOfFindingByRouteAndCaller) {
  ServeProcess& gateway = start_for_callers();
  send_duplicates(gateway);
  reuse_keys(gateway);
  send_what_is_refused(gateway);
  send_into_a_reset(gateway);
  EXPECT_EQ(upstream.count(), 13U) << "all of them";
  EXPECT_EQ(metric(gateway, "pawl_observations_dropped_total"), 0);
  expect_counts();
  expect_text();
}

TEST_P(ObserveReport, TheReportSaysWhatIsWrong) {
  const testing::Finished since = report({"--since", "yesterday"});
  EXPECT_EQ(since.exit_code, 64);
  EXPECT_THAT(since.err, HasSubstr("like 30m, 24h or 7d"));
  ServeProcess& gateway = start(observing);
  EXPECT_THAT(report().out, HasSubstr("Nothing. Is there traffic"));
  post(gateway.port(), payment);
  EXPECT_TRUE(sees(gateway, "created", 1));
  EXPECT_EQ(report({"--route", "default"}).exit_code, 0);
  const testing::Finished other = report({"--route", "paymens"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("observed routes: \"default\""));
  const testing::Finished missing =
      testing::run_program({PAWL_BINARY, "observe", "report", "--store", "sqlite:/no/such.db"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("there is no file \"/no/such.db\""));
  EXPECT_THAT(report({"--help"}).out, HasSubstr("Example: pawl observe report"));
}

PAWL_ON_EVERY_STORE(ObserveReport);

}  // namespace
}  // namespace pawl::e2e
