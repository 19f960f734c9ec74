#include "tests/e2e/outbox_fixture.hpp"

#include <sqlite3.h>

#include <fstream>
#include <regex>

namespace pawl::e2e {

std::string Ledger::execute(const std::string& key, bool dedupes) {
  const std::lock_guard lock(mutex_);
  int& times = effects_[key];
  if (times == 0 || !dedupes) ++times;
  return "ch_" + key;
}

int Ledger::effects(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = effects_.find(key);
  return found == effects_.end() ? 0 : found->second;
}

int Ledger::all() const {
  const std::lock_guard lock(mutex_);
  int sum = 0;
  for (const auto& [key, times] : effects_) sum += times;
  return sum;
}

Behaviour charge(Ledger& ledger, const ReceivedRequest& request, bool dedupes) {
  const std::string id = ledger.execute(request.header("Idempotency-Key").value_or(""), dedupes);
  return Behaviour::answer(201, "{\"id\":\"" + id + "\"}");
}

OutboxTest::OutboxTest() {
  std::ofstream(folder() / "provider.secret") << secret << "\n";
  provider.behave([this](const ReceivedRequest& request) { return charge(ledger, request); });
}

std::string OutboxTest::destination(const std::string& lines, const std::string& url) const {
  return "[[destination]]\nname = \"provider\"\nurl = \"" + (url.empty() ? provider.url() : url) +
         "\"\nlease = \"1s\"\nbackoff_min = \"10ms\"\nbackoff_max = \"100ms\"\n"
         "provider_id = \"/id\"\nsecret_file = \"" +
         (folder() / "provider.secret").string() + "\"\n" +
         (lines.find("timeout") == std::string::npos ? "timeout = \"20s\"\n" : "") + lines + "\n";
}

ServeProcess& OutboxTest::start_worker(const std::string& destinations) {
  return start({.policy = "", .top = "sweep_interval = \"100ms\"", .rest = destinations}, true);
}

std::string OutboxTest::id_of(int number) {
  const std::string digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

void OutboxTest::enqueue(int number, const std::string& to, const std::string& path) {
  const bool postgres = GetParam() == StoreKind::postgres;
  const std::string now =
      postgres ? "now()" : "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)";
  sql("INSERT INTO pawl.outbox (scope_id, id, idempotency_key, destination, derived_key, path,"
      " headers, body, next_attempt_at, created_at) VALUES ('caller:a', '" +
      id_of(number) + "', 'key-" + std::to_string(number) + "', '" + to + "', '" + key_of(number) +
      "', '" + path + "', '[[\"Content-Type\",\"application/json\"]]', " +
      (postgres ? "'\\x7b22616d6f756e74223a3130307d'" : "x'7b22616d6f756e74223a3130307d'") + ", " +
      now + ", " + now + ")");
}

std::string OutboxTest::column(int number, const std::string& column) {
  return sql("SELECT " + column + " FROM pawl.outbox WHERE id = '" + id_of(number) + "'");
}

bool OutboxTest::becomes(int number, const std::string& wanted) {
  return until([&] { return status(number) == wanted; });
}

std::string OutboxTest::sql(const std::string& text) {
  if (GetParam() == StoreKind::postgres) return shared_postgres().query(text, database());
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open((folder() / "pawl.db").c_str(), &handle), SQLITE_OK);
  sqlite3_busy_timeout(handle, 10'000);
  std::string first;
  char* error = nullptr;
  const std::string plain = std::regex_replace(text, std::regex("pawl\\."), "");
  const auto keep = [](void* into, int, char** values, char**) {
    auto& kept = *static_cast<std::string*>(into);
    if (kept.empty() && values[0] != nullptr) kept = values[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(handle, plain.c_str(), keep, &first, &error), SQLITE_OK) << error << plain;
  sqlite3_free(error);
  sqlite3_close(handle);
  return first;
}

testing::Finished OutboxTest::outbox(std::vector<std::string> arguments) const {
  std::vector<std::string> command{PAWL_BINARY, "outbox"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--store", store_url()});
  return testing::run_program(command);
}

}  // namespace pawl::e2e
