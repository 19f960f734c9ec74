// The provider's list and our records, compared by the real program: what differs is told, and a
// million entries on either side need no more memory than a few thousand.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>

#include "pawl/types/json.hpp"
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The first entry that a page is to have.
std::size_t page_in(const ReceivedRequest& request) {
  const std::size_t mark = request.target.find("after=");
  if (mark == std::string::npos) return 0;
  return std::strtoul(request.target.c_str() + mark + 6, nullptr, 10);
}

class Ledger : public OnEveryStore {
 protected:
  // A list of the bank's, `{cursor}` being the number of the first entry of a page.
  std::string source(const std::string& more = "") const {
    return "[[source]]\nname = \"bank\"\nvisibility_window = \"0s\"\nurl = \"" + bank.url() +
           "/find?key={key}\"\n[[source.rule]]\nstatus = 200\n"
           "where = { \"/status\" = \"never\" }\nthen = \"completed\"\n"
           "[source.ledger]\nurl = \"" +
           bank.url() +
           "/list?after={cursor}&from={since}\"\nitems = \"/data\"\nnext = \"/next\"\n"
           "where = { \"/status\" = \"succeeded\" }\nid = \"/id\"\nkey = \"/key\"\n"
           "scope = \"caller:default\"\ncompare = { \"/amount\" = \"/amount\" }\n" +
           more;
  }

  static std::string entry(const std::string& id, const std::string& key, int amount,
                           const std::string& status = "succeeded") {
    return R"({"id":")" + id + R"(","status":")" + status + R"(","key":")" + key +
           R"(","amount":)" + std::to_string(amount) + "}";
  }

  // What the bank says it did, in pages of two.
  void bank_has(std::vector<std::string> entries) {
    bank.behave([entries](const ReceivedRequest& request) {
      if (!request.target.starts_with("/list")) return Behaviour::answer(404);
      std::size_t at = page_in(request);
      std::string data;
      for (int i = 0; i < 2 && at < entries.size(); ++i, ++at) {
        data.append(data.empty() ? "" : ",").append(entries[at]);
      }
      std::string page = R"({"data":[)" + data + "]";
      if (at < entries.size()) page += R"(,"next":")" + std::to_string(at) + "\"";
      return Behaviour::answer(200, page + "}");
    });
  }

  std::string write_config(const std::string& more = "") {
    const std::string file = folder() / "pawl.toml";
    std::ofstream(file) << "upstream = \"" << upstream.url() << "\"\nstore = \"" << store_url()
                        << "\"\nallow_lossy_store = true\n[policy]\nreconcile = \"bank\"\n"
                        << source(more);
    return file;
  }

  std::vector<std::string> command(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{PAWL_BINARY,    "reconcile", "--config",
                                 write_config(), "--source",  "bank"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  testing::Finished compare(const std::vector<std::string>& more = {}) {
    return testing::run_program(command(more));
  }

  // A payment that is completed on our side.
  void pay(const ServeProcess& gateway, const std::string& key, int amount) {
    upstream.behave(Behaviour::answer(201, R"({"amount":)" + std::to_string(amount) + "}"));
    Post request = payment;
    request.key = key;
    ASSERT_EQ(post(gateway.port(), request).status, 201);
  }

  const std::string policy = "reconcile = \"bank\"\n";
  UpstreamServer bank;
};

TEST_P(Ledger, NothingDiffersWhereBothAgree) {
  ServeProcess& gateway = start({policy, "", source()});
  std::vector<std::string> theirs;
  for (int i = 0; i < 5; ++i) {
    pay(gateway, "payment-00000000" + std::to_string(i), 100 + i);
    theirs.push_back(
        entry("ch_" + std::to_string(i), "payment-00000000" + std::to_string(i), 100 + i));
  }
  theirs.push_back(entry("ch_9", "payment-declined-1", 5, "failed"));  // does not count
  bank_has(theirs);
  const testing::Finished same = compare();
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_EQ(same.out, "5 of ours, 5 of theirs: no differences\n");
}

TEST_P(Ledger, TellsWhatDiffers) {
  ServeProcess& gateway = start({policy, "", source()});
  pay(gateway, "payment-same-0001", 100);
  pay(gateway, "payment-amount-01", 100);
  pay(gateway, "payment-ours-0001", 100);
  pay(gateway, "payment-twice-001", 100);
  upstream.behave(Behaviour::hang_up());
  Post lost = payment;
  lost.key = "payment-lost-0001";
  EXPECT_EQ(problem_of(post(gateway.port(), lost)), "outcome-unknown");
  bank_has({entry("ch_1", "payment-same-0001", 100), entry("ch_2", "payment-amount-01", 120),
            entry("ch_3", "payment-theirs-01", 7), entry("ch_4", "payment-twice-001", 100),
            entry("ch_5", "payment-twice-001", 100), entry("ch_6", "payment-lost-0001", 100),
            R"({"id":"ch_7","status":"succeeded","amount":1})"});
  const testing::Finished table = compare();
  EXPECT_EQ(table.exit_code, 1) << table.out << table.err;
  EXPECT_THAT(table.out, HasSubstr("payment-amount-01 (caller:default): /amount: ours 100, theirs "
                                   "120\n"));
  EXPECT_THAT(table.out, HasSubstr("payment-ours-0001"));
  EXPECT_THAT(table.out, HasSubstr("2 entries: "));
  EXPECT_THAT(table.out, HasSubstr("they have it, and ours is unknown"));
  EXPECT_THAT(table.out, HasSubstr("it names no request"));
  EXPECT_THAT(table.out, Not(HasSubstr("payment-same-0001")));
  EXPECT_THAT(table.out, HasSubstr("5 of ours, 7 of theirs: 6 differ\n"));
  const testing::Finished document = compare({"--json"});
  EXPECT_EQ(document.exit_code, 1);
  const auto read = json::read(document.out);
  ASSERT_TRUE(read) << document.out;
  EXPECT_EQ(read->find("differences")->items.size(), 6U);
  EXPECT_EQ(read->find("counts")->find("theirs_only")->text, "2");
  EXPECT_EQ(read->find("counts")->find("theirs_twice")->text, "1");
}

TEST_P(Ledger, WhatCannotBeComparedSaysWhyAndGoesOnLater) {
  ServeProcess& gateway = start({policy, "", source()});
  pay(gateway, "payment-00000001", 100);
  bank.behave(Behaviour::answer(401));
  const std::string sheet = folder() / "sheet";
  const testing::Finished refused = compare({"--resume", sheet});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("answered 401"));
  // Its second page is refused, and then is not.
  std::atomic<int> firsts = 0;
  std::atomic<bool> away = true;
  bank.behave([&](const ReceivedRequest& request) {
    if (request.target.find("after=") == std::string::npos) {
      ++firsts;
      return Behaviour::answer(
          200, R"({"data":[)" + entry("ch_1", "payment-00000001", 100) + R"(],"next":"2"})");
    }
    return away ? Behaviour::answer(403) : Behaviour::answer(200, R"({"data":[]})");
  });
  EXPECT_EQ(compare({"--resume", sheet}).exit_code, 2);
  away = false;
  const testing::Finished resumed = compare({"--resume", sheet});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_EQ(firsts.load(), 1) << "what was read is not read again";
  EXPECT_FALSE(std::filesystem::exists(sheet));
  EXPECT_EQ(compare({"--resume", folder() / "pawl.toml"}).exit_code, 2) << "no sheet at all";
  EXPECT_EQ(testing::run_program(
                {PAWL_BINARY, "reconcile", "--config", write_config(), "--source", "nobody"})
                .exit_code,
            64);
  EXPECT_EQ(compare({"--since", "yesterday"}).exit_code, 64);
}

TEST_P(Ledger, IsComparedOnASchedule) {
  bank_has({entry("ch_1", "payment-theirs-01", 7)});
  ServeProcess& gateway = start({policy, "", source("every = \"1s\"\n")});
  ServeProcess& worker = start({policy, "", source("every = \"1s\"\n")}, /*worker=*/true);
  const std::string series = "pawl_ledger_differences{kind=\"theirs_only\",source=\"bank\"}";
  for (const ServeProcess* node : {&gateway, &worker}) {
    EXPECT_TRUE(until([&] { return metric(*node, series) == 1; })) << "whoever made it";
  }
  EXPECT_TRUE(gateway.wait_for_text("theirs_only") || worker.wait_for_text("theirs_only"));
  pay(gateway, "payment-theirs-01", 7);
  EXPECT_TRUE(until([&] { return metric(gateway, series) == 0; }));
  EXPECT_GT(metric(gateway, "pawl_ledger_compared_timestamp_seconds{source=\"bank\"}"), 1e9);
}

// --- a million on either side

struct Measured {
  int exit_code = -1;
  long peak_kib = 0;
  std::string out;
};

Measured measured(const std::vector<std::string>& command, const std::string& out) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  std::ostringstream text;
  text << std::ifstream(out).rdbuf();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, used.ru_maxrss, text.str()};
}

class LongLedger : public Ledger {
 protected:
  static std::string key_of(int number) {
    const std::string digits = std::to_string(number);
    return "payment-" + std::string(8 - digits.size(), '0') + digits;
  }

  // The bank has all of them but the last, and another amount for the one in the middle.
  void bank_has_many(int count) {
    constexpr int page_size = 1000;
    bank.behave([count](const ReceivedRequest& request) {
      int at = static_cast<int>(page_in(request));
      std::string page = R"({"data":[)";
      for (int i = 0; i < page_size && at < count - 1; ++i, ++at) {
        const int amount = at == count / 2 ? 1 : 100;
        page.append(i == 0 ? "" : ",")
            .append(entry("ch_" + std::to_string(at), key_of(at), amount));
      }
      page += "]";
      if (at < count - 1) page += R"(,"next":")" + std::to_string(at) + "\"";
      return Behaviour::answer(200, page + "}");
    });
  }

  void run_sql(const std::string& sql) const {
    if (!database().empty()) {
      shared_postgres().query(sql, database());
      return;
    }
    sqlite3* connection = nullptr;
    sqlite3_open((folder() / "pawl.db").c_str(), &connection);
    sqlite3_busy_timeout(connection, 10'000);
    char* error = nullptr;
    sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &error);
    const std::string said = error == nullptr ? "" : error;
    sqlite3_free(error);
    sqlite3_close(connection);
    ASSERT_EQ(said, "");
  }

  // Copies of one record that the program itself has made.
  void we_have_many(int from, int count) {
    const bool postgres = !database().empty();
    const std::string table = postgres ? "pawl.keys" : "keys";
    const std::string columns = columns_besides_key(table);
    const std::string last = std::to_string(count - 1);
    const std::string first = std::to_string(from);
    const std::string name =
        postgres ? "'payment-' || lpad(n::text, 8, '0')" : "printf('payment-%08d', n)";
    const std::string numbers =
        postgres ? "generate_series(" + first + "::bigint, " + last + ") AS s(n)"
                 : "(WITH RECURSIVE s(n) AS (SELECT " + first +
                       " UNION ALL SELECT n + 1 FROM s WHERE n < " + last + ") SELECT n FROM s)";
    run_sql("INSERT INTO " + table + " (idempotency_key, " + columns + ") SELECT " + name + ", " +
            columns + " FROM " + numbers + ", " + table + " WHERE idempotency_key = '" + key_of(0) +
            "'");
  }
  std::string columns_besides_key(const std::string& table) const {
    if (!database().empty()) {
      return shared_postgres().query(
          "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_schema "
          "= 'pawl' AND table_name = 'keys' AND column_name <> 'idempotency_key' AND is_generated "
          "= "
          "'NEVER'",
          database());
    }
    std::string all;
    sqlite3* connection = nullptr;
    sqlite3_open((folder() / "pawl.db").c_str(), &connection);
    sqlite3_busy_timeout(connection, 10'000);
    sqlite3_stmt* statement = nullptr;
    const std::string sql =
        "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'idempotency_key'";
    sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      all.append(all.empty() ? "" : ", ")
          .append(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
    }
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return all;
  }
};

TEST_P(LongLedger, AMillionOnEitherSideNeedsNoMoreMemoryThanAFewThousand) {
  ServeProcess& gateway = start({policy, "", source()});
  pay(gateway, key_of(0), 100);
  gateway.kill_hard();
  const std::string out = folder() / "out";
  constexpr int few = 5'000;
  const int many = GetParam() == StoreKind::sqlite ? 1'000'000 : 200'000;
  we_have_many(1, few);
  bank_has_many(few);
  const Measured little = measured(command(), out);
  EXPECT_EQ(little.exit_code, 1) << little.out;
  EXPECT_THAT(little.out, HasSubstr("5000 of ours, 4999 of theirs: 2 differ\n"));
  we_have_many(few, many);
  bank_has_many(many);
  const auto began = std::chrono::steady_clock::now();
  const Measured much = measured(command(), out);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  std::cout << few << " entries: " << little.peak_kib << " KiB; " << many
            << " entries: " << much.peak_kib << " KiB, " << took.count() << " ms\n";
  EXPECT_EQ(much.exit_code, 1) << much.out;
  EXPECT_THAT(much.out, HasSubstr(std::to_string(many) + " of ours, " + std::to_string(many - 1) +
                                  " of theirs: 2 differ\n"));
  EXPECT_THAT(much.out, HasSubstr(key_of(many - 1)));
  EXPECT_THAT(much.out, HasSubstr("/amount: ours 100, theirs 1\n"));
  EXPECT_LT(much.peak_kib, little.peak_kib + 48 * 1024);
}

PAWL_ON_EVERY_STORE(Ledger);
PAWL_ON_EVERY_STORE(LongLedger);

}  // namespace
}  // namespace pawl::e2e
