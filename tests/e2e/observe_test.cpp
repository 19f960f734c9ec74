// mode = "observe": everything is forwarded, and what would have been stopped is reported.
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <sstream>

#include "tests/e2e/observe_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class Observe : public ObserveTest {
 protected:
  void store_goes(const ServeProcess& gateway) {
    away_ = &gateway;
    if (GetParam() == StoreKind::postgres) return shared_postgres().stop();
    limit_files(1);
  }
  void store_comes_back() {
    if (away_ == nullptr) return;
    GetParam() == StoreKind::postgres ? shared_postgres().start() : limit_files(RLIM_INFINITY);
    away_ = nullptr;
  }
  ~Observe() override { store_comes_back(); }

  class Hang {
   public:
    virtual ~Hang() = default;
    virtual void end() = 0;
  };
  std::unique_ptr<Hang> hang_store() {
    if (GetParam() == StoreKind::sqlite) return std::make_unique<HeldLock>(folder() / "pawl.db");
    return std::make_unique<StoppedSessions>(database());
  }

 private:
  class HeldLock final : public Hang {
   public:
    explicit HeldLock(const std::filesystem::path& file) {
      EXPECT_EQ(sqlite3_open(file.c_str(), &handle_), SQLITE_OK);
      sqlite3_busy_timeout(handle_, 10'000);
      EXPECT_EQ(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    ~HeldLock() override { end(); }
    void end() override { sqlite3_close(std::exchange(handle_, nullptr)); }

   private:
    sqlite3* handle_ = nullptr;
  };

  class StoppedSessions final : public Hang {
   public:
    explicit StoppedSessions(const std::string& database) {
      std::istringstream pids(shared_postgres().query(
          "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE datname = '" + database +
          "' AND pid <> pg_backend_pid()"));
      for (pid_t pid = 0; pids >> pid;) {
        ::kill(pid, SIGSTOP);
        stopped_.push_back(pid);
      }
      EXPECT_FALSE(stopped_.empty());
    }
    ~StoppedSessions() override { end(); }
    void end() override {
      for (const pid_t pid : std::exchange(stopped_, {})) ::kill(pid, SIGCONT);
    }

   private:
    std::vector<pid_t> stopped_;
  };

  void limit_files(rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    if (away_->pid() > 0) ::prlimit(away_->pid(), RLIMIT_FSIZE, &limit, nullptr);
  }

  const ServeProcess* away_ = nullptr;
};

TEST_P(Observe, EveryRequestIsForwardedAndAnsweredAsIfPawlWereNotThere) {
  ServeProcess& gateway =
      start({.policy = "mode = \"observe\"\nbody_limit = \"1KiB\"",
             .top = "",
             .rest = "[[route]]\nmatch = \"POST /unguarded\"\nkey = \"off\"\n"});
  const std::string date = "Date: Tue, 15 Nov 1994 08:12:31 GMT\r\n";
  upstream.behave([&](const ReceivedRequest& request) {
    const std::string body = "answer to " + request.body.substr(0, 40);
    return Behaviour::raw("HTTP/1.1 201 Created\r\n" + date +
                          "Set-Cookie: a=b\r\nX-Payment: 7\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  std::vector<Post> requests{payment,
                             payment,
                             payment,                                  // a duplicate, again
                             under(payment.key, R"({"amount":200})"),  // reused
                             under("", payment.body),                  // no key
                             under("short", payment.body),             // no good key
                             under("\"quoted-key-0123456789\";a=1", "{}"),
                             under("another-key-0123456789", "{not json"),
                             under("a-third-key-0123456789", std::string(5000, 'x'))};
  requests.back().headers = {{"Content-Type", "text/plain"}, {"Content-Encoding", "gzip"}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const HttpAnswer watched = post(gateway.port(), requests[i]);
    const ReceivedRequest received = upstream.requests().back();
    Post plain = requests[i];
    plain.path = "/unguarded";
    const HttpAnswer passed = post(gateway.port(), plain);
    EXPECT_EQ(watched.head, passed.head) << i;
    EXPECT_EQ(watched.body, passed.body) << i;
    EXPECT_EQ(watched.body, "answer to " + requests[i].body.substr(0, 40)) << i;
    EXPECT_EQ(received.body, requests[i].body) << i;
    EXPECT_EQ(received.header("Idempotency-Key").value_or(""), requests[i].key) << i;
    EXPECT_EQ(upstream.count(), 2 * (i + 1)) << i;
  }
}

TEST_P(Observe, OutlivesARestartAndIsSharedByNodes) {
  ServeProcess& gateway = start(observing);
  post(gateway.port(), payment);
  EXPECT_EQ(gateway.terminate(), 0) << "what it saw is written out";
  EXPECT_EQ(reported("/all/would/created"), 1);
  ServeProcess& restarted = start(observing);
  post(restarted.port(), payment);
  EXPECT_TRUE(sees(restarted, "replay", 1));
  ServeProcess& another = start(observing);
  post(another.port(), payment);
  EXPECT_TRUE(sees(another, "replay", 1));
  EXPECT_EQ(reported("/all/would/replay"), 2);
  EXPECT_EQ(upstream.count(), 3U);
}

TEST_P(Observe, AKeyThatWasOnlyWatchedIsNewWhenTheRouteIsGuarded) {
  ServeProcess& watching = start(observing);
  post(watching.port(), payment);
  post(watching.port(), payment);
  EXPECT_TRUE(sees(watching, "replay", 1));
  const Post doubtful = under("a-doubtful-key-0123456789", "{}");
  upstream.behave(Behaviour::reset());
  post(watching.port(), doubtful);
  upstream.behave(Behaviour::answer(201, "paid"));
  post(watching.port(), doubtful);
  EXPECT_TRUE(sees(watching, "unknown", 1));
  EXPECT_EQ(status_of(watching, payment.key), "404") << "there is no record of it";
  EXPECT_EQ(watching.terminate(), 0);

  ServeProcess& guarding = start();
  for (const Post& each : {payment, doubtful}) {
    const std::size_t before = upstream.effects(each.key);
    const HttpAnswer executed = post(guarding.port(), each);
    EXPECT_EQ(executed.status, 201);
    EXPECT_EQ(executed.value("Idempotent-Replayed"), "");
    EXPECT_EQ(post(guarding.port(), each).value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(each.key), before + 1);
  }
}

TEST_P(Observe, AStoreThatIsAwayStopsNothingAndWhatWasSeenIsRecordedLater) {
  ServeProcess& gateway = start(observing);
  post(gateway.port(), payment);
  EXPECT_TRUE(sees(gateway, "created", 1));
  store_goes(gateway);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_TRUE(gateway.wait_for_text("what observe mode sees cannot be recorded"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(upstream.count(), 41U);
  EXPECT_EQ(get(gateway.admin_port(), "/readyz").status, 200) << "nothing depends on the store";
  EXPECT_EQ(seen(gateway, "replay"), 0);
  store_comes_back();
  EXPECT_TRUE(sees(gateway, "replay", 40));
  EXPECT_EQ(metric(gateway, "pawl_observations_dropped_total"), 0);
  EXPECT_EQ(reported("/all/requests"), 41);
}

TEST_P(Observe, AStoreThatIsAwayDoesNotHoldUpTheEnd) {
  ServeProcess& gateway = start(observing);
  store_goes(gateway);
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(gateway.terminate(), 0);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Observe, ABodyFarOverTheLimitIsStreamed) {
  ServeProcess& gateway =
      start({.policy = "mode = \"observe\"\nbody_limit = \"64KiB\"", .top = "", .rest = ""});
  const std::string large(3 << 20, 'x');
  RawClient client(gateway.port());
  client.send("POST /upload HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + payment.key +
              "\r\nTransfer-Encoding: chunked\r\n\r\n300000\r\n" + large + "\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 201);
  EXPECT_EQ(upstream.requests().front().body, large);
  EXPECT_TRUE(sees(gateway, "body_too_large", 1));
}

TEST_P(Observe, AnUnreachableUpstreamIsToldAndNotJudged) {
  const Settings nowhere{
      .policy = "mode = \"observe\"", .top = "", .rest = "", .upstream = "http://127.0.0.1:1"};
  ServeProcess& gateway = start(nowhere);
  EXPECT_EQ(post(gateway.port(), payment).status, 502);
  EXPECT_TRUE(sees(gateway, "not_read", 1));
  EXPECT_EQ(reported("/with_sync/not_judged"), 1);
}

TEST_P(Observe, AnAuthEndpointThatHangsHoldsNobodyUp) {
  UpstreamServer auth;
  const auto gate = std::make_shared<Gate>();
  auth.behave(Behaviour::answer(200, "", {{"X-Org", "acme"}}).after(gate));
  ServeProcess& gateway = start({.policy = "mode = \"observe\"",
                                 .top = "threads = 1",
                                 .rest = "[caller]\nfrom = \"subrequest\"\nurl = \"" + auth.url() +
                                         "/who\"\nscope_header = \"X-Org\"\ntimeout = \"1m\"\n"});
  Post request = payment;
  request.headers.emplace_back("Authorization", "Bearer ann");
  RawClient client(gateway.port());
  for (int i = 0; i < 2; ++i) {  // also the next on the same connection
    client.send(to_bytes(request));
    EXPECT_EQ(client.read_answer().status, 201);
  }
  auth.wait_for(1);
  EXPECT_EQ(seen(gateway, "created"), 0) << "whose they are is not known yet";
  gate->release();
  EXPECT_TRUE(sees(gateway, "created", 1));
  EXPECT_TRUE(sees(gateway, "replay", 1)) << "recorded when that was known";
  EXPECT_EQ(auth.count(), 1U) << "asked once about both";
}

TEST_P(Observe, AmbiguousMessagesAreStillRefused) {
  ServeProcess& gateway = start(observing);
  RawClient client(gateway.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}");
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_P(Observe, APolicyDocumentSaysThatNothingIsEnforced) {
  ServeProcess& gateway = start(observing);
  const std::string document = get(gateway.port(), "/_pawl/v1/policy").body;
  EXPECT_THAT(document, HasSubstr(R"("mode":"observe")"));
  EXPECT_THAT(document, HasSubstr(R"("enforced":false)"));
}

// Neither answers nor refuses: PostgreSQL's processes are stopped, SQLite's write lock is held.
TEST_P(Observe, AStoreThatHangsStopsNothing) {
  ServeProcess& gateway = start(observing);
  post(gateway.port(), payment);
  EXPECT_TRUE(sees(gateway, "created", 1));
  const std::unique_ptr<Hang> hang = hang_store();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_TRUE(gateway.wait_for_text("what observe mode sees cannot be recorded"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(upstream.count(), 22U);
  hang->end();
  EXPECT_TRUE(sees(gateway, "replay", 21));
  EXPECT_EQ(metric(gateway, "pawl_observations_dropped_total"), 0);
}

PAWL_ON_EVERY_STORE(Observe);

}  // namespace
}  // namespace pawl::e2e
