// How a node begins and ends: what it says of itself, what it refuses, which signals it minds.
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string line_with(const std::string& text, const std::string& words) {
  const std::size_t found = text.find(words);
  if (found == std::string::npos) return {};
  const std::size_t start = text.rfind('\n', found);
  const std::size_t begin = start == std::string::npos ? 0 : start + 1;
  return text.substr(begin, text.find('\n', found) - begin);
}

class Starting : public OnEveryStore {};

TEST_P(Starting, SaysWithWhatItStarts) {
  ServeProcess& first = start({"", "", "[[route]]\nmatch = \"POST /a\"\n"});
  ASSERT_TRUE(first.wait_for_text("starting"));
  const std::string said = line_with(first.err(), "starting");
  EXPECT_THAT(said, HasSubstr("info: starting version="));
  EXPECT_THAT(said, HasSubstr("store_holds=new"));
  EXPECT_THAT(said, HasSubstr("callers=\"not chosen\""));
  EXPECT_THAT(said, HasSubstr("profile=ietf"));
  EXPECT_THAT(said, HasSubstr("routes=1"));
  EXPECT_THAT(said, HasSubstr("/pawl.toml"));
  EXPECT_THAT(said, HasSubstr("listen=" + first.url()));
  EXPECT_THAT(said, HasSubstr("admin=http://127.0.0.1:" + std::to_string(first.admin_port())));
  if (GetParam() == StoreKind::sqlite) {
    EXPECT_THAT(said, HasSubstr("store=sqlite:" + (folder() / "pawl.db").string()));
  }
  EXPECT_TRUE(first.wait_for_text("no caller was chosen"));
  EXPECT_THAT(first.err(), Not(HasSubstr("its path is relative")));
  post(first.port(), payment);
  ServeProcess& second = start({"", "log = \"json\"", ""});
  ASSERT_TRUE(second.wait_for_text("starting"));
  const std::string json = line_with(second.err(), "starting");
  EXPECT_EQ(member_of(json, "message"), "starting") << json;
  EXPECT_EQ(member_of(json, "store_holds"), "1 keys");
  EXPECT_EQ(member_of(json, "callers"), "not chosen");
  EXPECT_NE(member_of(json, "version"), "(none)");
}

TEST_P(Starting, SighupEndsNoPayment) {
  ServeProcess& gateway = start();
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  ::kill(gateway.pid(), SIGHUP);
  ASSERT_TRUE(gateway.wait_for_text("the configuration was reloaded"));
  gate->release();
  EXPECT_EQ(client.read_answer().status, 201);
  ::kill(gateway.pid(), SIGHUP);
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(gateway.terminate(), 0);
}

TEST_P(Starting, ReadinessFailsFirstAndTheListenerStaysOpenForDrainDelay) {
  ServeProcess& gateway = start({"", "drain_delay = \"1h\"", ""});
  ASSERT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 200; }));
  gateway.ask_to_end();
  ASSERT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 503; }));
  EXPECT_EQ(post(gateway.port(), payment).status, 201) << "whoever has not heard it is served";
  gateway.ask_to_end();  // asked again, it does not wait
  EXPECT_EQ(gateway.wait(), 0);
  ServeProcess& short_one = start({"", "drain_delay = \"50ms\"", ""});
  EXPECT_EQ(short_one.terminate(), 0);
}

TEST_P(Starting, ReadinessNamesNoHostRoleOrFileToAStranger) {
  std::ofstream(folder() / "token") << "0123456789abcdef0123\n";
  ServeProcess& gateway =
      start({"", "", "[admin]\ntoken_file = \"" + (folder() / "token").string() + "\"\n"});
  if (GetParam() == StoreKind::sqlite) GTEST_SKIP() << "no server that could go away";
  ASSERT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 200; }));
  shared_postgres().stop();
  EXPECT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 503; }));
  const std::string stranger = get(gateway.admin_port(), "/readyz").body;
  const std::string operators =
      get(gateway.admin_port(), "/readyz", {{"Authorization", "Bearer 0123456789abcdef0123"}}).body;
  shared_postgres().start();
  EXPECT_THAT(stranger, HasSubstr("store: it cannot be used"));
  EXPECT_THAT(stranger, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(stranger, Not(HasSubstr("connection")));
  EXPECT_GT(operators.size(), stranger.size()) << operators;
  EXPECT_TRUE(gateway.wait_for_text("the store cannot be used: "));
}

PAWL_ON_EVERY_STORE(Starting);

class StartingOnSqlite : public OnSqlite {
 protected:
  std::string trouble(const testing::ServeOptions& options) const {
    try {
      const ServeProcess gateway(PAWL_BINARY, options);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  std::string with_token(const std::string& file) const {
    return "upstream = \"http://127.0.0.1:1\"\n[admin]\ntoken_file = \"" + file + "\"\n";
  }
};

TEST_F(StartingOnSqlite, WarnsOfANewStoreInTheCurrentFolder) {
  ServeProcess relative(PAWL_BINARY, {.flags = {"--upstream", upstream.url()}, .config = ""});
  EXPECT_TRUE(relative.wait_for_text("its path is relative"));
  EXPECT_THAT(line_with(relative.err(), "starting"), HasSubstr("store=sqlite:/"));
  EXPECT_THAT(line_with(relative.err(), "starting"), HasSubstr("configuration=none"));
}

TEST_F(StartingOnSqlite, RefusesAnEmptyOrShortAdminToken) {
  for (const std::string text : {"", "\n", "short\n", "fifteen-bytes-x\n"}) {
    const std::string file = folder() / "token";
    std::ofstream(file) << text;
    const std::string said = trouble({.flags = {}, .config = with_token(file)});
    EXPECT_THAT(said, HasSubstr("a secret must have 16 or more")) << text;
    EXPECT_THAT(said, HasSubstr("pawl.toml:3:14: ")) << text;
  }
}

TEST_F(StartingOnSqlite, RefusesADatabaseOrSecretThatEverybodyMayWrite) {
  const std::string secret = folder() / "token";
  std::ofstream(secret) << std::string(32, 'x');
  ::chmod(secret.c_str(), 0666);
  EXPECT_THAT(trouble({.flags = {}, .config = with_token(secret)}),
              HasSubstr("(mode 0666): run `chmod 600 " + secret + "`"));
  start().terminate();
  const std::string database = folder() / "pawl.db";
  struct stat made {};
  ASSERT_EQ(::stat(database.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07U, 0U) << "what it makes itself is not for everybody";
  ::chmod(database.c_str(), 0666);
  EXPECT_THAT(trouble({.flags = {"--upstream", upstream.url(), "--store", "sqlite:" + database},
                       .config = ""}),
              HasSubstr("run `chmod 600 " + database + "`"));
}

TEST_F(StartingOnSqlite, RefusesAConfigurationThatEverybodyMayWrite) {
  const std::string config = folder() / "loose.toml";
  const std::string where = folder() / "where";
  std::ofstream(where) << "sqlite:" << (folder() / "pawl.db").string() << "\n";
  std::ofstream(config) << "upstream = \"" << upstream.url() << "\"\nstore = \"{file:" << where
                        << "}\"\n";
  const auto check = [&] { return testing::run_program({PAWL_BINARY, "config", "check", config}); };
  EXPECT_EQ(check().exit_code, 0) << check().err;
  ::chmod(config.c_str(), 0666);
  EXPECT_THAT(check().err, HasSubstr("run `chmod 600 " + config + "`"));
  ::chmod(config.c_str(), 0600);
  ::chmod(where.c_str(), 0666);
  EXPECT_THAT(check().err, HasSubstr("run `chmod 600 " + where + "`"));
}

TEST_F(StartingOnSqlite, EveryCommandTakesItsStoreFromTheEnvironmentAndFromFiles) {
  start().terminate();
  std::ofstream(folder() / "where") << "sqlite:" << (folder() / "pawl.db").string() << "\n";
  const std::string where = "{file:" + (folder() / "where").string() + "}";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"keys", "list"},
                                             {"outbox", "list"},
                                             {"store", "show"},
                                             {"observe", "report"},
                                             {"migrate"}}) {
    const auto run = [&](const std::string& store) {
      std::vector<std::string> words{PAWL_BINARY};
      words.insert(words.end(), command.begin(), command.end());
      words.insert(words.end(), {"--store", store});
      return testing::run_program(words);
    };
    const testing::Finished found = run(where);
    EXPECT_EQ(found.exit_code, 0) << command.front() << ": " << found.err;
    const testing::Finished missing = run("{env:PAWL_TEST_NOT_THERE}");
    EXPECT_NE(missing.exit_code, 0) << command.front();
    EXPECT_THAT(missing.err, HasSubstr("{env:PAWL_TEST_NOT_THERE}")) << command.front();
  }
}

TEST_F(StartingOnSqlite, ConnectionsStayBelowTheLimitOfDescriptors) {
  const std::string limited = folder() / "limited";
  std::ofstream(limited) << "#!/bin/sh\nulimit -n 512\nexec " PAWL_BINARY " \"$@\"\n";
  ::chmod(limited.c_str(), 0755);
  ServeProcess gateway(limited, {.flags = {},
                                 .config = "upstream = \"" + upstream.url() + "\"\nstore = \"" +
                                           store_url() + "\"\n[limits]\nconnections = 5000\n"});
  EXPECT_TRUE(gateway.wait_for_text("connections is 5000, but there is room for 192 in 512"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
}

TEST_F(StartingOnSqlite, SecretsComeFromTheEnvironmentAndFromFiles) {
  std::ofstream(folder() / "where") << "sqlite:" << (folder() / "pawl.db").string() << "\n";
  const std::string upstream_line = "upstream = \"" + upstream.url() + "\"\n";
  ServeProcess from_file(
      PAWL_BINARY,
      {.flags = {},
       .config = upstream_line + "store = \"{file:" + (folder() / "where").string() + "}\"\n"});
  EXPECT_TRUE(from_file.wait_for_text((folder() / "pawl.db").string()));
  ::setenv("PAWL_TEST_STORE", (folder() / "pawl.db").c_str(), 1);
  ServeProcess from_environment(
      PAWL_BINARY,
      {.flags = {}, .config = upstream_line + "store = \"sqlite:{env:PAWL_TEST_STORE}\"\n"});
  EXPECT_TRUE(from_environment.wait_for_text((folder() / "pawl.db").string()));
}

}  // namespace
}  // namespace pawl::e2e
