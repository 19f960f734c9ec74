// A gateway with a store and an upstream of its own, for each test anew.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <string>

#include "tests/support/postgres_server.hpp"
#include "tests/support/raw_client.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::e2e {

using testing::Behaviour;
using testing::Gate;
using testing::get;
using testing::HttpAnswer;
using testing::Post;
using testing::post;
using testing::RawClient;
using testing::ReceivedRequest;
using testing::ServeProcess;
using testing::UpstreamServer;
using testing::WireHeaders;

enum class StoreKind { sqlite, postgres };

// The parts of a configuration; every test says only what it is about.
struct Settings {
  std::string policy;         // lines of [policy]
  std::string top;            // lines before any table
  std::string rest;           // further tables
  std::string upstream = "";  // a URL, or a list of them in brackets; empty: this test's own
  std::uint16_t port = 0;     // for one that must be found where another was; 0: any
  std::vector<std::string> flags = {};  // of the command line
  std::string socket = "";              // a Unix socket in place of a port
  std::string admin_socket = "";
};

// The one server of this program. Whoever stops it starts it again.
testing::PostgresServer& shared_postgres();

// Blocks until it holds; false past the deadline. For what has no event to wait for.
bool until(const std::function<bool()>& condition);

// The slug of a problem document, of any profile; "" where the answer is none.
std::string problem_of(const HttpAnswer& answer);
// A member of a JSON object, as text; "(none)" where it is not there.
std::string member_of(const std::string& document, const std::string& name);
// The value of a line in /metrics, by everything before its blank; -1 where it is not there.
double metric(const ServeProcess& gateway, const std::string& series);

class GatewayTest : public ::testing::Test {
 protected:
  explicit GatewayTest(StoreKind kind);

  // One more node on this test's store, in front of this test's upstream.
  ServeProcess& start(const Settings& settings = {}, bool worker = false);
  // What `start` writes for a node with these settings.
  [[nodiscard]] std::string config_of(const Settings& settings) const;
  [[nodiscard]] const std::string& store_url() const { return store_url_; }
  [[nodiscard]] const std::string& database() const { return database_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  // What GET /_pawl/v1/keys/{key} says: its "status", or "404".
  static std::string status_of(const ServeProcess& gateway, const std::string& key,
                               const WireHeaders& headers = {});
  static bool becomes(const ServeProcess& gateway, const std::string& key,
                      const std::string& status);

  const Post payment{.key = "0123456789abcdef"};
  testing::TemporaryFolder folder_;
  UpstreamServer upstream;

 private:
  std::string store_url_;
  std::string database_;
  std::list<ServeProcess> gateways_;
};

class OnEveryStore : public GatewayTest, public ::testing::WithParamInterface<StoreKind> {
 protected:
  OnEveryStore() : GatewayTest(GetParam()) {}
};

class OnSqlite : public GatewayTest {
 protected:
  OnSqlite() : GatewayTest(StoreKind::sqlite) {}
};

class OnPostgres : public GatewayTest {
 protected:
  OnPostgres() : GatewayTest(StoreKind::postgres) {}
};

inline std::string store_name(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::sqlite ? "Sqlite" : "Postgres";
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): gtest's own are macros
#define PAWL_ON_EVERY_STORE(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(All, suite, ::testing::Values(StoreKind::sqlite, StoreKind::postgres), \
                           store_name)

}  // namespace pawl::e2e
