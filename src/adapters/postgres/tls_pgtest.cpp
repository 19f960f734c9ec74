// sslmode=verify-full: the server must show a certificate for its name, from an authority we know.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

// An authority, and certificates it signed for "localhost" and for a stranger's name.
class Authority {
 public:
  Authority() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-tls-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = pattern;
    ::chmod(folder_.c_str(), 0755);
    openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=pawl test", "-keyout", folder_ + "/ca.key", "-out", authority()});
    sign("localhost");
    sign("stranger.example");
  }
  ~Authority() { std::filesystem::remove_all(folder_); }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  [[nodiscard]] std::string authority() const { return folder_ + "/ca.pem"; }
  // Lines for postgresql.conf.
  [[nodiscard]] std::string server_settings(const std::string& name) const {
    return "ssl = on\nssl_cert_file = '" + folder_ + "/" + name + ".pem'\nssl_key_file = '" +
           folder_ + "/" + name + ".key'\n";
  }

 private:
  static void openssl(const std::vector<std::string>& arguments) {
    std::vector<std::string> command;
    command.emplace_back("/usr/bin/openssl");
    for (const std::string& argument : arguments) command.push_back(argument);
    const testing::Finished done = testing::run_program(command);
    if (done.exit_code != 0) throw std::runtime_error(done.err);
  }

  void sign(const std::string& name) {
    const std::string base = folder_ + "/" + name;
    openssl({"req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout",
             base + ".key", "-out", base + ".csr"});
    openssl({"x509", "-req", "-days", "2", "-in", base + ".csr", "-CA", authority(), "-CAkey",
             folder_ + "/ca.key", "-CAcreateserial", "-out", base + ".pem"});
    // The server runs as another user where the tests run as root, and is strict about its key.
    const testing::Finished id = testing::run_program({"/usr/bin/id", "-u", "postgres"});
    const auto owner = ::geteuid() == 0 ? static_cast<uid_t>(std::stoul(id.out)) : ::geteuid();
    if (::chown((base + ".key").c_str(), owner, static_cast<gid_t>(-1)) != 0) {
      throw std::runtime_error("chown");
    }
    ::chmod((base + ".key").c_str(), 0600);
  }

  std::string folder_;
};

std::string verified_url(const testing::PostgresServer& server, const std::string& authority) {
  return "host=localhost port=" + std::to_string(server.port()) +
         " dbname=postgres user=postgres sslmode=verify-full sslrootcert=" + authority;
}

TEST(Tls, AVerifiedServerIsUsed) {
  const Authority authority;
  testing::PostgresServer server(
      {.fsync = false, .configuration = authority.server_settings("localhost")});
  const std::string url = verified_url(server, authority.authority());
  ASSERT_TRUE(migrate(url));
  const auto store = open_store(url);
  const StoreResult<Written> written =
      run(store->insert_or_read_one(testing::an_in_progress_record("tls-key-00000001", "owner")));
  EXPECT_TRUE(written->mine);
  EXPECT_NE(server.query("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), "0");
}

TEST(Tls, AServerWithAnotherNameIsRefused) {
  const Authority authority;
  testing::PostgresServer server(
      {.fsync = false, .configuration = authority.server_settings("stranger.example")});
  ASSERT_TRUE(migrate(server.url()));
  const auto store = PostgresStore::open(verified_url(server, authority.authority()), patient());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("stranger.example"), std::string::npos) << store.error();
}

}  // namespace
}  // namespace pawl::postgres
