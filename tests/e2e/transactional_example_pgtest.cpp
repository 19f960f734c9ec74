// examples/transactional, the Node service, behind the real gateway. It has no hooks: locks that
// the test holds in PostgreSQL stop it where they are wanted.
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <future>
#include <sstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/e2e/node_example.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

const std::string example = PAWL_SOURCE_DIR "/examples/transactional";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class NodeService {
 public:
  NodeService(const std::filesystem::path& folder, const std::string& database)
      : folder_(folder), log_(folder / ("log of " + database)), database_("DATABASE_URL=") {
    database_ += shared_postgres().tcp_url(database);
    start();
  }
  ~NodeService() { kill_hard(); }
  NodeService(const NodeService&) = delete;
  NodeService& operator=(const NodeService&) = delete;

  // On the port it had, if any.
  void start() {
    const std::string script = folder_ / "server.js";
    const std::string port = "PORT=" + std::to_string(port_);
    const std::array<const char*, 5> command{"/usr/bin/env", database_.c_str(), port.c_str(),
                                             PAWL_NODE, script.c_str()};
    std::vector<char*> arguments;
    for (const char* const word : command) arguments.push_back(const_cast<char*>(word));
    arguments.push_back(nullptr);
    const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {  // only what may follow fork() in a program with threads
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(126);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(log);
    const std::string ready = "listening on ";
    if (!says(ready)) throw std::runtime_error("node did not get ready: " + text_of(log_));
    const std::string said = text_of(log_);
    port_ = std::stoi(said.substr(said.find(ready) + ready.size()));
  }
  void kill_hard() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] bool says(const std::string& what) const {
    return until([&] {
      const std::string said = text_of(log_);
      const std::size_t at = said.find(what);
      return at != std::string::npos && said.find('\n', at) != std::string::npos;
    });
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  std::filesystem::path folder_;
  std::filesystem::path log_;
  std::string database_;
  pid_t pid_ = -1;
  int port_ = 0;
};

// A transaction that holds something until it is let go.
class Hold {
 public:
  Hold(const std::string& database, const std::string& sql)
      : connection_(PQconnectdb(shared_postgres().url(database).c_str()), PQfinish) {
    const std::string both = "BEGIN; " + sql;
    PQclear(PQexec(connection_.get(), both.c_str()));
    EXPECT_EQ(PQtransactionStatus(connection_.get()), PQTRANS_INTRANS) << sql;
  }
  void let_go() { connection_.reset(); }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class NodeExample : public GatewayTest {
 protected:
  static void SetUpTestSuite() {
    folder = new testing::TemporaryFolder;
    installed = new std::filesystem::path;
    *installed = install_node_example(folder->path(), "transactional", "server.js");
  }
  static void TearDownTestSuite() {
    delete installed;
    installed = nullptr;
    delete folder;
    folder = nullptr;
  }

  NodeExample() : GatewayTest(StoreKind::postgres), service(*installed, with_schema()) {}

  ServeProcess& node(const std::string& policy = "") {
    return start({.policy = "transactional = true\n" + policy,
                  .top = "",
                  .rest = "",
                  .upstream = service.url()});
  }
  std::string with_schema() {
    query(text_of(example + "/schema.sql"));
    return database();
  }
  std::string query(const std::string& sql) const {
    return shared_postgres().query(sql, database());
  }
  std::string rows() const { return query("SELECT count(*) FROM payments"); }
  // Until the service waits for one of our locks with this statement.
  bool waits_in(const std::string& statement) const {
    return until([&] {
      return query(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                 "datname = current_database() AND query LIKE '" +
                 statement + "%'") == "1";
    });
  }
  bool retry_until_paid(const ServeProcess& gateway) {
    return until([&] { return post(gateway.port(), order).status == 201; });
  }

  static testing::TemporaryFolder* folder;
  static std::filesystem::path* installed;
  const Post order{.key = "order-4711-payment",
                   .body = R"({"amount": 1000, "currency": "EUR"})",
                   .path = "/v1/payments"};
  NodeService service;
};

testing::TemporaryFolder* NodeExample::folder = nullptr;
std::filesystem::path* NodeExample::installed = nullptr;

constexpr const char* table_lock = "LOCK TABLE payments IN ACCESS EXCLUSIVE MODE";
constexpr const char* row_lock = "SELECT FROM pawl.keys FOR UPDATE";

TEST_F(NodeExample, PaysOnceAndReplays) {
  ServeProcess& gateway = node();
  const HttpAnswer first = post(gateway.port(), order);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(member_of(first.body, "amount"), "1000");
  const HttpAnswer again = post(gateway.port(), order);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(rows(), "1");
  Post wrong = order;
  wrong.key = "order-4712-payment";
  wrong.body = R"({"amount": -1, "currency": "EUR"})";
  EXPECT_EQ(post(gateway.port(), wrong).status, 422);
  EXPECT_EQ(post(gateway.port(), wrong).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 0);
}

TEST_F(NodeExample, KilledInItsInsertNothingIsPaidAndTheRetryPays) {
  ServeProcess& gateway = node();
  Hold hold(database(), table_lock);
  RawClient client(gateway.port());
  client.send(to_bytes(order));
  ASSERT_TRUE(waits_in("INSERT"));
  service.kill_hard();
  EXPECT_EQ(client.read_answer().status, 502);
  hold.let_go();
  service.start();
  EXPECT_TRUE(retry_until_paid(gateway));
  EXPECT_EQ(rows(), "1");
}

TEST_F(NodeExample, KilledInItsCompletionNothingIsPaidAndTheRetryPays) {
  ServeProcess& gateway = node();
  Hold table(database(), table_lock);
  RawClient client(gateway.port());
  client.send(to_bytes(order));
  ASSERT_TRUE(waits_in("INSERT"));
  Hold row(database(), row_lock);
  table.let_go();
  ASSERT_TRUE(waits_in("SELECT pawl.complete"));
  service.kill_hard();
  row.let_go();
  EXPECT_EQ(client.read_answer().status, 502);
  service.start();
  EXPECT_TRUE(retry_until_paid(gateway));
  EXPECT_EQ(rows(), "1");
}

TEST_F(NodeExample, TooLateItRollsBackWithPW001AndTheRetryPays) {
  ServeProcess& gateway = node("upstream_timeout = \"1s\"");
  Hold hold(database(), table_lock);
  RawClient client(gateway.port());
  client.send(to_bytes(order));
  ASSERT_TRUE(waits_in("INSERT"));
  EXPECT_EQ(client.read_answer().status, 504);
  hold.let_go();
  EXPECT_TRUE(service.says("PW001"));
  EXPECT_EQ(rows(), "0");
  EXPECT_TRUE(retry_until_paid(gateway));
  EXPECT_EQ(rows(), "1");
}

TEST_F(NodeExample, WithoutAGatewayItRefusesToPay) {
  const std::string url = service.url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  EXPECT_EQ(post(port, order).status, 500);
  EXPECT_EQ(rows(), "0");
}

TEST_F(NodeExample, ItsConfigurationIsRightAndItIsAsShortAsItSays) {
  const testing::Finished checked =
      testing::run_program({PAWL_BINARY, "config", "check", example + "/pawl.toml"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  const std::string code = text_of(example + "/server.js");
  const auto lines = std::ranges::count(code, '\n');
  EXPECT_LT(lines, 80);
  EXPECT_NE(text_of(example + "/README.md").find(std::to_string(lines) + " lines"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::e2e
