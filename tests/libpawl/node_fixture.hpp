// A node in this process, on SQLite or PostgreSQL, with a table of its own.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "pawl/pawl.hpp"
#include "pawl/types/metrics.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/serve_process.hpp"

namespace pawl::testing {

enum class StoreKind { sqlite, postgres };

inline PostgresServer& shared_server() {
  static PostgresServer one;
  return one;
}

class LockedMetrics final : public Metrics {
 public:
  void add(Counter counter, std::string_view, std::uint64_t amount) override {
    const std::lock_guard lock(mutex_);
    counts_[counter] += amount;
  }
  std::uint64_t count(Counter counter) {
    const std::lock_guard lock(mutex_);
    return counts_[counter];
  }

 private:
  std::mutex mutex_;
  std::map<Counter, std::uint64_t> counts_;  // under mutex_
};

class NodeTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  NodeTest() : url_(new_store()), node(open_node()) {
    node.transact([](Database& database) {
      database.execute("CREATE TABLE facts (name TEXT NOT NULL, value TEXT)");
    });
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] bool on_postgres() const { return GetParam() == StoreKind::postgres; }

  Node open_node() {
    NodeOptions options;
    options.migrate = true;
    options.metrics = metrics;
    options.at_point = [this](std::string_view point) {
      if (at_point) at_point(point);
    };
    options.log = [this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      log_.append(text).append("\n");
    };
    return pawl::open(url_, options);
  }

  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  // The first column of the first row; "" for none.
  std::string ask(const std::string& sql) {
    std::string found;
    node.transact([&](Database& database) {
      const Rows rows = database.query(sql);
      if (!rows.empty()) found = rows[0].at(0).value_or("NULL");
    });
    return found;
  }
  std::string keys_table() const { return on_postgres() ? "pawl.keys" : "keys"; }
  std::string status(const std::string& key) {
    return ask("SELECT status FROM " + keys_table() + " WHERE idempotency_key = '" + key + "'");
  }

  static HttpRequest payment(const std::string& key, const std::string& body = R"({"amount":1})") {
    HttpRequest request;
    request.target = "/v1/payments?x=1";
    request.headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer secret"}};
    if (!key.empty()) request.headers.push_back({"Idempotency-Key", key});
    request.body = body;
    return request;
  }

  static std::string header(const Response& response, std::string_view name) {
    return std::string(find_header(response.headers, name).value_or(""));
  }

 private:
  std::string new_store() {
    if (!on_postgres()) return "sqlite:" + (folder_.path() / "pawl.db").string();
    static int databases = 0;
    const std::string name = "node_" + std::to_string(++databases);
    shared_server().create_database(name);
    return shared_server().url(name);
  }

  TemporaryFolder folder_;
  std::mutex mutex_;
  std::string log_;
  std::string url_;

 protected:
  std::function<void(std::string_view)> at_point;
  std::shared_ptr<LockedMetrics> metrics = std::make_shared<LockedMetrics>();
  Node node;
};

inline std::string store_name(const ::testing::TestParamInfo<StoreKind>& kind) {
  return kind.param == StoreKind::sqlite ? "Sqlite" : "Postgres";
}

}  // namespace pawl::testing
