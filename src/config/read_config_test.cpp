#include "src/config/read_config.hpp"

#include <gmock/gmock.h>

#include "src/config/read_for_tests.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(ReadConfig, AnEmptyFileIsTheDefaults) {
  const Config config = good("");
  EXPECT_EQ(config.listen, (Address{"127.0.0.1", 8080}));
  EXPECT_EQ(config.admin.listen, (Address{"127.0.0.1", 9090}));
  EXPECT_EQ(config.store, "sqlite:pawl.db");
  EXPECT_EQ(config.upstream.host, "");
  EXPECT_EQ(config.drain_timeout, 45s);
  EXPECT_EQ(config.policy.retention, 48h);
  EXPECT_FALSE(config.caller.from);
  EXPECT_EQ(warnings_of(""), "");
}

TEST(ReadConfig, ReadsEveryTableOutsideThePolicy) {
  const Config config = good(R"(
listen = "0.0.0.0:80"
upstream = "https://api:8443"
store = "host=db dbname=pawl"
drain_timeout = "1m"
sweep_interval = "5s"
outbox_retention = "2d"
evidence_retention = "3d"
audit_retention = "4d"
threads = 4
replay_cache = "1GiB"
memory_budget = 536870912
connections_per_address = 7
allow_lossy_store = true
log = "json"
[admin]
listen = "[::1]:9"
token_file = "/t"
[limits]
header_bytes = 32768
header_count = 10
target_bytes = "8KiB"
header_timeout = "1s"
body_timeout = "2s"
idle_timeout = "3s"
connections = 5
[[fingerprint_secret]]
id = "new"
file = "/new"
[[fingerprint_secret]]
id = "old"
file = "/old"
)");
  EXPECT_EQ(config.listen, (Address{"0.0.0.0", 80}));
  EXPECT_EQ(config.upstream, (UpstreamUrl{true, "api", 8443}));
  EXPECT_EQ(config.more_upstreams, std::vector<UpstreamUrl>{});
  EXPECT_EQ(config.store, "host=db dbname=pawl");
  EXPECT_EQ(config.drain_timeout, 60s);
  EXPECT_EQ(config.sweep_interval, 5s);
  EXPECT_EQ(config.outbox_retention, 48h);
  EXPECT_EQ(config.evidence_retention, 72h);
  EXPECT_EQ(config.audit_retention, 96h);
  EXPECT_EQ(config.threads, 4U);
  EXPECT_EQ(config.replay_cache, std::size_t{1} << 30);
  EXPECT_EQ(config.memory_budget, std::size_t{512} << 20);
  EXPECT_TRUE(config.allow_lossy_store);
  EXPECT_EQ(config.log, LogFormat::json);
  EXPECT_EQ(config.admin.listen, (Address{"::1", 9}));
  EXPECT_EQ(config.admin.token_file, "/t");
  EXPECT_EQ(config.limits.header_bytes, 32768U);
  EXPECT_EQ(config.limits.header_count, 10U);
  EXPECT_EQ(config.limits.target_bytes, 8192U);
  EXPECT_EQ(config.limits.header_timeout, 1s);
  EXPECT_EQ(config.limits.body_timeout, 2s);
  EXPECT_EQ(config.limits.idle_timeout, 3s);
  EXPECT_EQ(config.limits.connections, 5U);
  EXPECT_EQ(config.limits.connections_per_address, 7U);
  ASSERT_EQ(config.fingerprint_secret_files.size(), 2U);
  EXPECT_EQ(config.fingerprint_secret_files[0].id, "new");
  EXPECT_EQ(config.fingerprint_secret_files[1].file, "/old");
  EXPECT_TRUE(config.fingerprint_secrets.empty());
}

struct Row {
  const char* text;
  const char* line;  // one whole line of what is said
};

void expect_lines(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(errors_of(row.text), std::string(row.line) + "\n") << row.text;
  }
}

TEST(ReadConfig, AnUnknownNameIsRefusedWithTheNearestOne) {
  expect_lines({
      {"[policy]\nretension = \"48h\"",
       "f:2:1: unknown setting 'retension' in [policy]; did you mean 'retention'?"},
      {"\n  lissen = 1",
       "f:2:3: unknown setting 'lissen' at the top level; did you mean 'listen'?"},
      {"[polcy]\nlease = \"1s\"", "f:1:2: unknown table [polcy]; did you mean [policy]?"},
      {"[[rout]]\nmatch = \"POST /\"", "f:1:3: unknown table [rout]; did you mean [route]?"},
      {"[weather]", "f:1:2: unknown table [weather]"},
      {"weather = 1", "f:1:1: unknown setting 'weather' at the top level"},
      {"[admin]\ntoken = 1\nlog = \"json\"",
       "f:2:1: unknown setting 'token' in [admin]\n"
       "f:3:1: unknown setting 'log' in [admin]; it belongs at the top of the file, before the "
       "first [table]"},
      {"[[route]]\nmatch = \"POST /\"\nlaese = \"1s\"",
       "f:3:1: unknown setting 'laese' in [[route]]; did you mean 'lease'?"},
      {"[policy]\nfingerprint = { exlude = [] }",
       "f:2:17: unknown setting 'exlude' in 'fingerprint'; did you mean 'exclude'?"},
      {"[[fingerprint_secret]]\nid = \"a\"\nfile = \"b\"\nfiel = 1",
       "f:4:1: unknown setting 'fiel' in [[fingerprint_secret]]; did you mean 'file'?"},
      {"[caller]\nform = \"single\"",
       "f:2:1: unknown setting 'form' in [caller]; did you mean 'from'?"},
  });
}

TEST(ReadConfig, ASettingInTheWrongTableIsSentHome) {
  expect_lines({
      {"retention = \"48h\"",
       "f:1:1: unknown setting 'retention' at the top level; it belongs in [policy] or [[route]]"},
      {"[limits]\nconnections_per_address = 5",
       "f:2:1: unknown setting 'connections_per_address' in [limits]; it belongs at the top of the "
       "file, before the first [table]"},
      {"[policy]\nmatch = \"POST /\"",
       "f:2:1: unknown setting 'match' in [policy]; it belongs in [[route]]"},
      {"header_bytes = 1",
       "f:1:1: unknown setting 'header_bytes' at the top level; it belongs in [limits]"},
  });
}

TEST(ReadConfig, AValueOfTheWrongKindIsRefusedWithTheRightKind) {
  constexpr const char* duration =
      "it must be a duration: a whole number with its unit, in quotes, like \"500ms\", \"30s\", "
      "\"2m\", \"48h\" or \"30d\"\n";
  EXPECT_EQ(errors_of("drain_timeout = 45"),
            std::string("f:1:17: 'drain_timeout' is 45; ") + duration);
  EXPECT_EQ(errors_of("drain_timeout = \"45\""),
            std::string("f:1:17: 'drain_timeout' is \"45\"; ") + duration);
  EXPECT_EQ(errors_of("drain_timeout = 00:45:00"),
            std::string("f:1:17: 'drain_timeout' is 00:45:00; ") + duration);
  constexpr const char* size =
      "it must be a size: a number of bytes, or a whole number with its unit, in quotes, like "
      "\"64KiB\", \"1MiB\" or \"10MB\"\n";
  EXPECT_EQ(errors_of("replay_cache = \"64K\""),
            std::string("f:1:16: 'replay_cache' is \"64K\"; ") + size);
  EXPECT_EQ(errors_of("replay_cache = -1"), std::string("f:1:16: 'replay_cache' is -1; ") + size);
  EXPECT_EQ(errors_of("replay_cache = 1.5"), std::string("f:1:16: 'replay_cache' is 1.5; ") + size);
  expect_lines({
      {"threads = \"4\"", "f:1:11: 'threads' is \"4\"; it must be a whole number from 0 to 1024"},
      {"threads = 4000", "f:1:11: 'threads' is 4000; it must be from 0 to 1024"},
      {"allow_lossy_store = \"yes\"",
       "f:1:21: 'allow_lossy_store' is \"yes\"; it must be true or false, without quotes"},
      {"log = \"jsn\"",
       "f:1:7: 'log' is \"jsn\"; it must be one of \"human\", \"json\"; did you mean \"json\"?"},
      {"log = true", "f:1:7: 'log' is true; it must be one of \"human\", \"json\""},
      {"listen = 8080", "f:1:10: 'listen' is 8080; it must be a text in quotes"},
      {"listen = {}", "f:1:10: 'listen' is a table; it must be a text in quotes"},
      {"upstream = \"api:80\"",
       "f:1:12: 'upstream' is \"api:80\"; it must start with http:// or https://, like "
       "\"http://127.0.0.1:3000\""},
      {"sweep_interval = \"1ms\"",
       "f:1:18: 'sweep_interval' is \"1ms\"; it must be from 10ms to 1h"},
      {"replay_cache = \"9999999GiB\"",
       "f:1:16: 'replay_cache' is \"9999999GiB\"; it must be from 0B to 1024GiB"},
      {"[admin]\ntoken_file = \"\"", "f:2:14: 'token_file' is \"\"; it must not be empty"},
      {"policy = 1",
       "f:1:10: 'policy' must be a table: write [policy] on a line of its own, with one pair of "
       "brackets"},
      {"[[admin]]",
       "f:1:1: 'admin' must be a table: write [admin] on a line of its own, with one pair of "
       "brackets"},
      {"[route]", "f:1:1: 'route' must be a list: write [[route]], with two brackets"},
      {"[fingerprint_secret]",
       "f:1:1: 'fingerprint_secret' must be a list: write [[fingerprint_secret]], with two "
       "brackets"},
      {"route = [1]", "f:1:10: each [[route]] must be a table"},
  });
}

TEST(ReadConfig, TheMemoryBudgetHoldsAtLeastOneRequestOfEveryRoute) {
  EXPECT_EQ(good("").memory_budget, 0U);
  EXPECT_EQ(good("memory_budget = \"auto\"").memory_budget, 0U);
  EXPECT_EQ(good("memory_budget = \"2MiB\"").memory_budget, std::size_t{2} << 20);
  expect_lines({
      {"memory_budget = \"1MB\"",
       "f:1:17: 'memory_budget' is \"1MB\"; it must be from 1MiB to 1024GiB"},
      {"memory_budget = \"1MiB\"",
       "f:1:17: 'memory_budget' is 1MiB; it must be at least twice the largest 'body_limit', four "
       "times on async routes: 2MiB"},
      {"memory_budget = \"3MiB\"\n[[route]]\nmatch = \"POST /a\"\nmode = \"async\"",
       "f:1:17: 'memory_budget' is 3MiB; it must be at least twice the largest 'body_limit', four "
       "times on async routes: 4MiB"},
      {"memory_budget = \"16MiB\"\n[policy]\nbody_limit = \"9MiB\"",
       "f:1:17: 'memory_budget' is 16MiB; it must be at least twice the largest 'body_limit', four "
       "times on async routes: 18MiB"},
  });
  EXPECT_EQ(
      errors_of("memory_budget = \"a lot\""),
      "f:1:17: 'memory_budget' is \"a lot\"; it must be a size: a number of bytes, or a whole "
      "number with its unit, in quotes, like \"64KiB\", \"1MiB\" or \"10MB\"\n");
}

TEST(ReadConfig, AStoreIsNeverQuotedInAMessage) {
  for (const char* text : {"store = \"postgre://u:hunter2@db\"", "store = \"mysql://u:hunter2@db\"",
                           "store = [\"hunter2\"]", "store = \"sqlite:\"",
                           "store = \"sqlite::memory:\"", "store = \"postgres://u:***@db\""}) {
    const std::string errors = errors_of(text);
    EXPECT_THAT(errors, HasSubstr("f:1:9: 'store': it")) << text;
    EXPECT_EQ(errors.find("hunter2"), std::string::npos) << errors;
  }
  for (const char* text : {"sqlite:a", "postgres://db", "postgresql://db", "host=db", "user=a"}) {
    EXPECT_EQ(good(std::string("store = \"") + text + "\"").store, text);
  }
}

TEST(ReadConfig, SecretsHaveAnIdAndAFile) {
  expect_lines({
      {"[[fingerprint_secret]]\nid = \"a\"",
       "f:1:1: each [[fingerprint_secret]] needs 'id' and 'file'"},
      {"[[fingerprint_secret]]\nid = \"-\"\nfile = \"x\"",
       "f:2:6: 'id' is \"-\"; it must be 1 to 32 letters, digits, - and _, like \"2024-06\""},
      {"[[fingerprint_secret]]\nid = \"a\"\nfile = \"x\"\n[[fingerprint_secret]]\nid = "
       "\"a\"\nfile = \"y\"",
       "f:5:6: 'id' is \"a\"; an earlier [[fingerprint_secret]] has it already"},
  });
}

TEST(ReadConfig, TheRequestLineFitsIntoTheHeader) {
  EXPECT_THAT(
      errors_of("[limits]\nheader_bytes = \"1KiB\""),
      HasSubstr("f:1:1: 'target_bytes' is 16KiB; it must not be over 'header_bytes', 1KiB"));
}

TEST(ReadConfig, PermissionsAndNetworksAreReadStrictly) {
  const Config config =
      good("listen_mode = \"0660\"\ntrusted_proxies = [\"10.0.0.0/8\", \"unix:\"]");
  EXPECT_EQ(config.listen_mode, 0660U);
  EXPECT_EQ(config.trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "unix:"}));
  for (const char* mode :
       {"660", "\"66\"", "\"0680\"", "\"1660\"", "\"rw\"", "true", "\"06600\""}) {
    EXPECT_THAT(errors_of("listen_mode = " + std::string(mode)), HasSubstr("permissions in quotes"))
        << mode;
  }
  EXPECT_THAT(errors_of("trusted_proxies = [\"everyone\"]"), HasSubstr("an address or a network"));
  EXPECT_THAT(errors_of("trusted_proxies = \"10.0.0.0/8\""), HasSubstr("'trusted_proxies'"));
}

TEST(ReadConfig, AllTroublesAreReportedInTheOrderOfTheFile) {
  EXPECT_EQ(errors_of("[policy]\nlease = 1\nnmae = 1\n[admin]\nlisten = \"x\"\n"),
            "f:2:9: 'lease' is 1; it must be a duration: a whole number with its unit, in quotes, "
            "like \"500ms\", \"30s\", \"2m\", \"48h\" or \"30d\"\n"
            "f:3:1: unknown setting 'nmae' in [policy]\n"
            "f:5:10: 'listen' is \"x\"; it must be an address and a port, like \"127.0.0.1:8080\" "
            "or \"[::1]:8080\", or a socket, like \"unix:/run/pawl.sock\"\n");
}

TEST(ReadConfig, TextThatIsNotTomlIsOneTroubleWithItsPlace) {
  EXPECT_THAT(errors_of("a = 1\nb = \n"), HasSubstr("f:2:5: this is not TOML: "));
  EXPECT_THAT(errors_of("[policy]\nlease = 30s"),
              HasSubstr("a duration or a size is written in quotes, like \"30s\""));
  EXPECT_THAT(errors_of("log = \"json\"\nlog = \"json\""), HasSubstr("f:2:"));
  EXPECT_THAT(errors_of("log = \"\xff\""), HasSubstr("f:1:"));
  EXPECT_EQ(errors_of("allow_lossy_store = tru\n"),
            "f:1:24: this is not TOML: in a boolean: expected 'true', saw 'tru\\n'\n");
  EXPECT_EQ(errors_of("\"a\\nb\\u001b\" = 1"),
            "f:1:1: unknown setting 'a\\nb?' at the top level\n");
  EXPECT_THAT(errors_of("route = " + std::string(10'000, '[')), HasSubstr("f:1:"));
}

TEST(ReadConfig, WarnsWhereARestartWouldCutRequestsOff) {
  EXPECT_EQ(warnings_of("drain_timeout = \"10s\""),
            "f:1:17: 'drain_timeout' is 10s, but an upstream may take 30s: a restart can leave "
            "requests with an unknown outcome\n");
  EXPECT_THAT(warnings_of("[[route]]\nmatch = \"POST /slow\"\nupstream_timeout = \"2m\""),
              HasSubstr("f: 'drain_timeout' is 45s, but an upstream may take 2m"));
}

}  // namespace
}  // namespace pawl::config
