// A Unix socket as the listener, and as the operators' one.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using testing::Wire;

class UnixListener : public OnSqlite {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "pawl.sock") const {
    return folder() / name;
  }
  [[nodiscard]] Settings on_socket(const std::string& top = {}) const {
    Settings settings;
    settings.top = top;
    settings.socket = path();
    return settings;
  }
  [[nodiscard]] unsigned mode() const {
    struct stat file {};
    return ::lstat(path().c_str(), &file) == 0 ? file.st_mode & 0777U : 0U;
  }
  HttpAnswer pay(const WireHeaders& headers = {}) {
    RawClient client(Wire::connect_to_socket(path()));
    Post one = payment;
    one.headers.insert(one.headers.end(), headers.begin(), headers.end());
    client.send(to_bytes(one));
    return client.read_answer();
  }
  // What a second one on this socket says.
  testing::Finished start_again() {
    return testing::run_program({PAWL_BINARY, "serve", "--listen", "unix:" + path(), "--admin",
                                 "127.0.0.1:0", "--upstream", upstream.url(), "--store",
                                 "sqlite:" + path("other.db")});
  }
};

TEST_F(UnixListener, ServesAndGoesWithTheProcess) {
  ServeProcess& gateway = start(on_socket());
  EXPECT_THAT(gateway.out(), HasSubstr("listening on unix:" + path() + "\n"));
  EXPECT_EQ(mode(), 0600U);
  EXPECT_EQ(pay().status, 201);
  EXPECT_EQ(pay().value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.requests().back().header("X-Forwarded-For"), "unknown");
  EXPECT_TRUE(gateway.wait_for_text("client=unix:")) << gateway.err();
  EXPECT_EQ(gateway.terminate(), 0) << gateway.err();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(UnixListener, HasThePermissionsThatAreSet) {
  start(on_socket("listen_mode = \"0660\"\n"));
  EXPECT_EQ(mode(), 0660U);
  EXPECT_EQ(pay().status, 201);
}

TEST_F(UnixListener, BelievesAProxyWhereItIsTrusted) {
  ServeProcess& gateway = start(on_socket("trusted_proxies = [\"unix:\"]\n"));
  EXPECT_EQ(pay({{"X-Forwarded-For", "192.0.2.7"}}).status, 201);
  EXPECT_TRUE(gateway.wait_for_text("client=192.0.2.7")) << gateway.err();
  EXPECT_EQ(upstream.requests().back().header("X-Forwarded-For"), "192.0.2.7");
}

TEST_F(UnixListener, IsReplacedOnlyWhereNoProcessListens) {
  ServeProcess& gateway = start(on_socket());
  const testing::Finished second = start_again();
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another process listens there"));
  EXPECT_EQ(pay().status, 201);
  gateway.kill_hard();
  ASSERT_TRUE(std::filesystem::exists(path())) << "what was killed removes nothing";
  start(on_socket());
  EXPECT_EQ(pay().value("Idempotent-Replayed"), "true");
}

TEST_F(UnixListener, ReplacesNoFile) {
  std::ofstream(path()) << "a ledger";
  const testing::Finished refused = start_again();
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot listen on unix:" + path() +
                                     ": there is a file that is not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path()), 8U);
}

TEST_F(UnixListener, IsAlsoForOperators) {
  Settings settings;
  settings.admin_socket = path();
  const ServeProcess& gateway = start(settings);
  EXPECT_THAT(gateway.out(), HasSubstr("admin on unix:" + path() + "\n"));
  RawClient operator_(Wire::connect_to_socket(path()));
  operator_.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(operator_.read_answer().status, 200);
}

}  // namespace
}  // namespace pawl::e2e
