#include "tests/libpawl/flow_fixture.hpp"

#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/core/derived_key.hpp"
#include "tests/support/process.hpp"

namespace pawl::testing {
namespace {

PostgresServer& server() {
  static PostgresServer one;
  return one;
}

Told told_of(Finished done) {
  Told told;
  told.exit_code = done.exit_code;
  told.err = done.err;
  told.out = done.out;
  const std::size_t at = done.out.find("status ");
  if (at == std::string::npos) return told;
  told.status = std::stoi(done.out.substr(at + 7));
  const std::size_t end = done.out.find("\n\n", at);
  const std::string head = done.out.substr(at, end - at);
  told.replayed = head.find("Idempotent-Replayed: true") != std::string::npos;
  told.body = done.out.substr(end + 2);
  return told;
}

std::string sqlite_query(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  std::string text;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK &&
      sqlite3_busy_timeout(database, 10'000) == SQLITE_OK &&
      sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != nullptr) {
    text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  } else if (sqlite3_errcode(database) != SQLITE_DONE) {
    ADD_FAILURE() << sql << ": " << sqlite3_errmsg(database);
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return text;
}

std::string with_schema(std::string sql, bool postgres) {
  const std::string mark = "PAWL.";
  for (std::size_t at = sql.find(mark); at != std::string::npos; at = sql.find(mark, at)) {
    sql.replace(at, mark.size(), postgres ? "pawl." : "");
  }
  return sql;
}

std::string quoted(const std::string& key) { return "'" + key + "'"; }

}  // namespace

StoppedChild::StoppedChild(const std::vector<std::string>& command) {
  int pipe[2] = {};
  if (::pipe(pipe) != 0) throw std::runtime_error("pipe");
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  out_ = pipe[0];
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) throw std::runtime_error("the child did not stop");
}

Told StoppedChild::resume() {
  ::kill(pid_, SIGCONT);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(out_, buffer, sizeof buffer)) > 0;) {
    said_.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  Finished done;
  done.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  done.out = said_;
  return told_of(done);
}

StoppedChild::~StoppedChild() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
}

FlowTest::FlowTest() {
  if (on_postgres()) {
    static int databases = 0;
    database_ = "flow_" + std::to_string(++databases);
    server().create_database(database_);
    url_ = server().url(database_);
  } else {
    database_ = (folder_.path() / "pawl.db").string();
    url_ = "sqlite:" + database_;
  }
  const Told made = child("", {"do=setup"});
  if (made.exit_code != 0) throw std::runtime_error(made.err);
}

FlowTest::Options FlowTest::command(const std::string& key, const Options& more) const {
  Options all{PAWL_PAYMENTS_CHILD, "store=" + url_,
              "ledger=" + (folder_.path() / "provider").string(), "key=" + key};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Told FlowTest::child(const std::string& key, const Options& more) {
  return told_of(run_program(command(key, more)));
}

Told FlowTest::pay(const std::string& key, Options more) { return child(key, more); }

Told FlowTest::retry(const std::string& key, const Options& more) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    Told told = pay(key, more);
    const bool again = told.status == 503 || told.body.find("in-flight") != std::string::npos;
    if (!again || std::chrono::steady_clock::now() > deadline) return told;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void FlowTest::complete(const Options& more) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Options all = more;
  all.push_back("do=complete");
  while (query("SELECT count(*) FROM PAWL.keys WHERE status = 'in_progress'") != "0") {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "still in progress";
    const Told told = child("", all);
    ASSERT_EQ(told.exit_code, 0) << told.err;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void FlowTest::end_leases() {
  // A time that is brought forward is noted, as the store itself would.
  if (on_postgres()) {
    query(
        "SELECT pawl.note_due(scope_id, idempotency_key, 'in_progress', locked_at) "
        "FROM pawl.keys WHERE status = 'in_progress'");
  }
  query(
      "UPDATE PAWL.keys SET locked_until = locked_at WHERE status = 'in_progress' "
      "RETURNING status");
}

std::vector<std::string> FlowTest::points() {
  const Told told = child("list-of-points-0001", {"do=points"});
  EXPECT_EQ(told.status, 201) << told.err;
  std::istringstream lines(told.out.substr(0, told.out.find("status ")));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

std::string FlowTest::query(const std::string& sql) {
  const std::string text = with_schema(sql, on_postgres());
  return on_postgres() ? server().query(text, database_) : sqlite_query(database_, text);
}

std::size_t FlowTest::charges(const std::string& key) {
  const std::string wanted = phase_key(Scope{"lib:tenant-a"}, Key{key}, "charge");
  std::ifstream lines(folder_.path() / "provider");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line == wanted) ++count;
  }
  return count;
}

std::string FlowTest::status_of(const std::string& key) {
  return query("SELECT status FROM PAWL.keys WHERE idempotency_key = " + quoted(key));
}

void FlowTest::expect_one_effect(const std::string& key) {
  EXPECT_EQ(charges(key), 1U) << key;
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE client_key = " + quoted(key)), "1") << key;
  EXPECT_EQ(query("SELECT count(*) FROM entries e JOIN payments p ON p.id = e.payment "
                  "WHERE p.client_key = " +
                  quoted(key)),
            "1")
      << key;
  EXPECT_EQ(query("SELECT count(*) FROM PAWL.outbox WHERE destination = 'receipts' "
                  "AND status = 'pending' AND idempotency_key = " +
                  quoted(key)),
            "1")
      << key;
}

}  // namespace pawl::testing
