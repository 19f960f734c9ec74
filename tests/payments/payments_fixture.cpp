#include "tests/payments/payments_fixture.hpp"

#include <sqlite3.h>

#include <thread>

#include "pawl/types/json.hpp"

namespace pawl::e2e {
namespace {

std::string sqlite_query(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_busy_timeout(database, 10'000);
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  std::string text;
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    const unsigned char* const column = sqlite3_column_text(statement, 0);
    if (column != nullptr && text.empty()) text = reinterpret_cast<const char*>(column);
  }
  const std::string error = sqlite3_errmsg(database);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  if (code != SQLITE_DONE) throw std::runtime_error(sql + ": " + error);
  return text;
}

// The member of the item of a list whose other members are these.
std::string find_in(const std::string& document, const std::string& list, const std::string& name,
                    const std::string& value, const std::string& currency,
                    const std::string& wanted) {
  const auto read = json::read(document);
  const json::Value* const items = read ? read->find(list) : nullptr;
  if (items == nullptr) return "(none)";
  for (const json::Value& item : items->items) {
    if (item.find(name)->text == value && item.find("currency")->text == currency) {
      return item.find(wanted)->text;
    }
  }
  return "0";
}

std::vector<std::string> provider_command(const std::filesystem::path& folder,
                                          const std::vector<std::string>& flags) {
  std::vector<std::string> command{PAWL_PROVIDER, "--data", folder / "provider.db", "--listen",
                                   "127.0.0.1:0"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

// "PAWL." is the schema of Pawl's own tables, where there are schemas.
std::string with_schema(std::string sql, const std::string& schema) {
  for (std::size_t mark = sql.find("PAWL."); mark != std::string::npos; mark = sql.find("PAWL.")) {
    sql.replace(mark, 5, schema);
  }
  return sql;
}

}  // namespace

std::string at(const std::string& document, std::string_view pointer) {
  const auto read = json::read(document);
  if (!read) return "(no JSON)";
  const json::Value* const value = json::resolve(*read, *json::parse_pointer(pointer));
  if (value == nullptr) return "(none)";
  if (value->kind == json::Kind::boolean) return value->boolean ? "true" : "false";
  if (value->kind == json::Kind::array) return std::to_string(value->items.size()) + " items";
  return value->text;
}

PaymentsTest::PaymentsTest(const Lines& provider_flags)
    : provider_(provider_command(folder(), provider_flags)),
      api_store_(database().empty() ? "sqlite:" + (folder() / "payments.db").string()
                                    : store_url()),
      provider_url_(provider_.url()) {
  start_api();
}

void PaymentsTest::start_api(const Lines& flags, const Lines& environment) {
  start_api_at("127.0.0.1:0", flags, environment);
}

void PaymentsTest::restart_api(const Lines& flags) {
  start_api_at("127.0.0.1:" + std::to_string(api_->port()), flags, {});
}

void PaymentsTest::start_api_at(const std::string& address, const Lines& flags,
                                const Lines& environment) {
  std::vector<std::string> command{PAWL_PAYMENTS, "--listen",   address,
                                   "--store",     api_store_,   "--allow-lossy-store",
                                   "--provider",  provider_url_};
  command.insert(command.end(), flags.begin(), flags.end());
  api_.reset();
  api_.emplace(command, environment);
}

testing::ServeProcess& PaymentsTest::start_worker(const std::string& tables) {
  const std::string config = "upstream = \"" + api_->url() + "\"\nstore = \"" + api_store_ +
                             "\"\nallow_lossy_store = true\n" + tables;
  return workers_.emplace_back(
      PAWL_BINARY, testing::ServeOptions{.flags = {}, .config = config, .worker = true});
}

testing::Finished PaymentsTest::outbox(Lines arguments) const {
  arguments.insert(arguments.begin(), {PAWL_BINARY, "outbox"});
  arguments.insert(arguments.end(), {"--store", api_store_});
  return testing::run_program(arguments);
}

std::optional<HttpAnswer> PaymentsTest::send(const std::string& path, const std::string& key,
                                             const std::string& body,
                                             const std::string& caller) const {
  Post request;
  request.path = path;
  request.key = key;
  request.body = body;
  if (!caller.empty()) request.headers.emplace_back("Authorization", "Bearer " + caller);
  try {
    return post(api_->port(), request);
  } catch (const testing::WireError&) {
    return std::nullopt;
  }
}

std::string PaymentsTest::body_of(int amount) {
  return R"({"customer":"cus_1","amount":)" + std::to_string(amount) + R"(,"currency":"EUR"})";
}

std::optional<HttpAnswer> PaymentsTest::pay(const std::string& key, int amount) const {
  return send("/v1/payments", key, body_of(amount));
}

HttpAnswer PaymentsTest::insist(const std::string& path, const std::string& key,
                                const std::string& body) const {
  HttpAnswer last;
  const bool answered = until([&] {
    const std::optional<HttpAnswer> answer = send(path, key, body);
    if (answer) last = *answer;
    return answer && answer->value("Pawl-Should-Retry") != "true";
  });
  EXPECT_TRUE(answered) << path << " " << key << ": " << last.status << " " << last.body;
  return last;
}

HttpAnswer PaymentsTest::insist_on_paying(const std::string& key, int amount) const {
  return insist("/v1/payments", key, body_of(amount));
}

HttpAnswer PaymentsTest::read(const std::string& target, const std::string& caller) const {
  return get(api_->port(), target, {{"Authorization", "Bearer " + caller}});
}

void PaymentsTest::faults(const std::string& document) const {
  Post request;
  request.path = "/_faults";
  request.body = document;
  const HttpAnswer answer = post(provider_.port(), request);
  ASSERT_EQ(answer.status, 200) << answer.body;
}

std::string PaymentsTest::provider_ledger(std::string_view pointer) const {
  return at(get(provider_.port(), "/v1/ledger").body, pointer);
}

std::string PaymentsTest::posted(const std::string& kind, const std::string& currency) const {
  return find_in(read("/v1/ledger").body, "totals", "kind", kind, currency, "amount");
}

std::string PaymentsTest::balance(const std::string& account, const std::string& currency) const {
  return find_in(read("/v1/ledger").body, "balances", "account", account, currency, "balance");
}

std::string PaymentsTest::query(const std::string& sql) const {
  if (!database().empty()) return shared_postgres().query(with_schema(sql, "pawl."), database());
  return sqlite_query(folder() / "payments.db", with_schema(sql, ""));
}

std::string PaymentsTest::gateway_query(const std::string& sql) const {
  if (!database().empty()) return query(sql);
  return sqlite_query(folder() / "pawl.db", with_schema(sql, ""));
}

void PaymentsTest::end_leases() const {
  if (!database().empty()) {  // a time that is brought forward is noted, as the store itself would
    query(
        "SELECT pawl.note_due(scope_id, idempotency_key, 'in_progress', locked_at) "
        "FROM pawl.keys WHERE status = 'in_progress'");
  }
  query("UPDATE PAWL.keys SET locked_until = locked_at WHERE status = 'in_progress'");
}

void PaymentsTest::expect_books(int charges, int refunds) const {
  EXPECT_EQ(provider_ledger("/charges"), std::to_string(charges));
  EXPECT_EQ(provider_ledger("/refunds"), std::to_string(refunds));
  EXPECT_EQ(provider_ledger("/keys_charged_twice"), "0");
  EXPECT_EQ(provider_ledger("/references_charged_twice"), "0");
  EXPECT_EQ(query("SELECT count(*) FROM postings WHERE kind = 'capture'"), std::to_string(charges));
  EXPECT_EQ(query("SELECT count(*) FROM postings WHERE kind = 'refund'"), std::to_string(refunds));
  const std::string charged = charges == 0 ? "0" : provider_ledger("/sums/0/charged");
  const std::string refunded = charges == 0 ? "0" : provider_ledger("/sums/0/refunded");
  EXPECT_EQ(posted("capture"), charged);
  EXPECT_EQ(posted("refund"), refunded);
  EXPECT_EQ(balance("holds"), "0");
  EXPECT_EQ(at(read("/v1/ledger").body, "/unbalanced"), "0");
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE status IN ('pending', 'refunding', "
                  "'cancelling')"),
            "0");
  EXPECT_EQ(query("SELECT count(*) FROM PAWL.keys WHERE status <> 'completed'"), "0");
}

}  // namespace pawl::e2e
