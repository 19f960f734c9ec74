#include "src/config/serving.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "src/config/files.hpp"
#include "src/config/read_for_tests.hpp"
#include "tests/support/signing_key.hpp"

namespace pawl::config {
namespace {

using ::testing::HasSubstr;

class Serving : public ::testing::Test {
 protected:
  Serving() { std::filesystem::create_directories(folder_); }
  ~Serving() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string missing() { return (folder_ / "missing").string(); }

 private:
  // Tests run at the same time, each in a process of its own.
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("pawl_config_") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string why_not(const std::string& text) { return in_lines(check_ready_to_serve(good(text))); }
const std::string upstream = "upstream = \"http://api:3000\"\n";

TEST_F(Serving, StartsWithAnUpstreamAndNothingElse) { EXPECT_EQ(why_not(upstream), ""); }

TEST_F(Serving, SaysHowToGiveAnUpstream) {
  EXPECT_THAT(why_not(""), HasSubstr("there is no upstream"));
  EXPECT_THAT(why_not(""), HasSubstr("--upstream http://127.0.0.1:3000"));
}

TEST_F(Serving, ListeningToOthersNeedsAChoiceOfCaller) {
  EXPECT_THAT(why_not(upstream + "listen = \"0.0.0.0:80\""),
              HasSubstr("listening on 0.0.0.0:80, which others can reach"));
  EXPECT_EQ(why_not(upstream + "listen = \"0.0.0.0:80\"\n[caller]\nfrom = \"single\""), "");
  EXPECT_THAT(why_not(upstream + "[admin]\nlisten = \"0.0.0.0:90\""),
              HasSubstr("it needs [admin] token_file"));
  EXPECT_EQ(why_not(upstream + "[admin]\nlisten = \"0.0.0.0:90\"\ntoken_file = \"/t\""), "");
  EXPECT_THAT(why_not(upstream + "[admin]\nlisten = \"127.0.0.1:8080\""),
              HasSubstr("each needs an address of its own"));
}

TEST_F(Serving, ASocketIsReachedByThisMachineAlone) {
  EXPECT_EQ(why_not(upstream + "listen = \"unix:/run/a\"\n[admin]\nlisten = \"unix:/run/b\""), "");
  EXPECT_THAT(why_not(upstream + "listen = \"unix:/run/a\"\n[admin]\nlisten = \"unix:/run/a\""),
              HasSubstr("listen and [admin] listen are both unix:/run/a"));
  EXPECT_THAT(why_not(upstream + "listen_mode = \"0660\""),
              HasSubstr("listen_mode is for a Unix socket, and listen is 127.0.0.1:8080"));
  EXPECT_THAT(why_not(upstream + "[admin]\nlisten_mode = \"0660\""),
              HasSubstr("[admin] listen_mode is for a Unix socket"));
}

TEST_F(Serving, AProxyHeaderNeedsTrustedProxies) {
  EXPECT_THAT(why_not(upstream + "proxy_protocol = true"), HasSubstr("needs trusted_proxies"));
  EXPECT_EQ(why_not(upstream + "proxy_protocol = true\ntrusted_proxies = [\"10.0.0.0/8\"]"), "");
}

TEST_F(Serving, AProxyThatPassesBytesNamesNoCaller) {
  const std::string by_header =
      "[caller]\nfrom = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"10.0.0.1\"]";
  const std::string proxies = "trusted_proxies = [\"10.0.0.0/8\"]\n";
  EXPECT_EQ(why_not(upstream + proxies + by_header), "");
  EXPECT_THAT(why_not(upstream + proxies + "proxy_protocol = true\n" + by_header),
              HasSubstr("do not go together"));
}

TEST_F(Serving, ARouteMayBeObservedButNotWhereItsServiceNeedsAFence) {
  EXPECT_EQ(why_not(upstream + "[policy]\nmode = \"observe\""), "");
  EXPECT_THAT(why_not(upstream + "store = \"postgres://db/pawl\"\n"
                                 "[[route]]\nmatch = \"POST /a\"\nname = \"a\"\n"
                                 "mode = \"observe\"\ntransactional = true"),
              HasSubstr("mode = \"observe\" and transactional = true (route \"a\") do not go"));
}

TEST_F(Serving, NothingNeedsTheStoreWhereNothingIsGuarded) {
  Config config;
  EXPECT_TRUE(needs_store(config));
  config.policy.mode = Mode::observe;
  EXPECT_FALSE(needs_store(config));
  config.routes.emplace_back();
  EXPECT_TRUE(needs_store(config));
  config.routes.back().policy.key = KeyRequirement::off;
  EXPECT_FALSE(needs_store(config));
  config.key_api.callers = {"default"};
  EXPECT_TRUE(needs_store(config)) << "its keys are keys too";
}

TEST_F(Serving, SaysWhatIsNotBuiltYetAndWhereItIsUsed) {
  EXPECT_EQ(why_not(upstream + "[caller]\nfrom = \"mtls\"\nclient_ca_file = \"x\""),
            "[caller] from = \"mtls\" needs [tls]: certificates are shown over TLS alone\n");
}

TEST_F(Serving, EveryOtherWayToKnowACallerIsBuilt) {
  for (const char* lines :
       {"from = \"single\"", "from = \"jwt\"\njwks_url = \"https://id.example/keys\"",
        "from = \"header\"\nheader = \"X-T\"\ntrusted = [\"10.0.0.0/8\"]",
        "from = \"subrequest\"\nurl = \"https://a\"\nscope_header = \"X-S\""}) {
    EXPECT_EQ(why_not(upstream + "[caller]\n" + lines), "") << lines;
  }
  EXPECT_EQ(why_not(upstream + "[policy]\nmax_request_age = \"1m\"\n"
                               "request_time = \"header:X-At\"\n"),
            "");
}

TEST_F(Serving, TheKeysOfTokensAreReadBeforeAnybodyIsServed) {
  const std::string secret(32, 's');
  const auto troubles = [&](const std::string& lines) {
    Config config = good(upstream + "[caller]\nfrom = \"jwt\"\n" + lines);
    const std::string told = in_lines(check_files(config));
    EXPECT_EQ(told, in_lines(load_secrets(config)));
    return told;
  };
  const auto file = [&](const std::string& name, const std::string& text) {
    return "jwks_file = \"" + write(name, text) + "\"\n";
  };
  EXPECT_EQ(troubles(file("good", pawl::testing::SigningKey::shared(secret).jwks("k1"))), "");
  EXPECT_THAT(troubles(file("none", "{\"keys\":[]}")),
              HasSubstr("none: has no key that can be used ([caller] jwks_file)"));
  EXPECT_THAT(troubles(file("odd", "[]")), HasSubstr("is no JWK Set"));
  EXPECT_THAT(troubles("secret_file = \"" + write("weak", std::string(20, 's')) + "\""),
              HasSubstr("it has 20 bytes, and HS256 needs 32 or more ([caller] secret_file)"));
  EXPECT_THAT(troubles("secret_file = \"" + missing() + "\""),
              HasSubstr("No such file or directory ([caller] secret_file)"));
  Config config = good(upstream + "[caller]\nfrom = \"jwt\"\nsecret_file = \"" +
                       write("secret", secret + "\n") + "\"");
  EXPECT_TRUE(load_secrets(config).empty());
  EXPECT_EQ(config.caller.secret, secret);
}

TEST_F(Serving, ATransactionalRouteNeedsPostgres) {
  const std::string route = "[[route]]\nmatch = \"POST /a\"\ntransactional = true\n";
  EXPECT_EQ(
      why_not(upstream + route),
      "transactional = true (route \"POST /a\") needs PostgreSQL, where the service completes "
      "the key in its own transaction; the store is \"sqlite:pawl.db\"\n");
  EXPECT_EQ(why_not(upstream + "store = \"postgres://db/pawl\"\n" + route), "");
}

TEST_F(Serving, AFlagWinsAndIsReadAsTheFileIs) {
  Config config = good(upstream);
  EXPECT_TRUE(apply(config, {.listen = "[::1]:1",
                             .admin = "127.0.0.1:2",
                             .upstream = "https://other",
                             .store = "sqlite:x"})
                  .empty());
  EXPECT_EQ(config.listen, (Address{"::1", 1}));
  EXPECT_EQ(config.admin.listen, (Address{"127.0.0.1", 2}));
  EXPECT_EQ(config.upstream, (UpstreamUrl{true, "other", 443}));
  EXPECT_EQ(config.store, "sqlite:x");
  const std::string errors = in_lines(
      apply(config, {.listen = "80", .admin = ":1", .upstream = "x", .store = "u:hunter2@db"}));
  EXPECT_THAT(errors, HasSubstr("--listen is \"80\"; it must be an address and a port"));
  EXPECT_THAT(errors, HasSubstr("--admin is \":1\"; it must say which address"));
  EXPECT_THAT(errors, HasSubstr("--upstream is \"x\"; it must start with http://"));
  EXPECT_THAT(errors, HasSubstr("--store: it must be \"sqlite:PATH\""));
  EXPECT_EQ(errors.find("hunter2"), std::string::npos);
  EXPECT_EQ(config.store, "sqlite:x");
}

TEST_F(Serving, AFileThatCannotBeReadIsATrouble) {
  const auto read = read_config_file(missing());
  ASSERT_FALSE(read);
  EXPECT_EQ(in_lines(read.error()), missing() + ": cannot be read: No such file or directory\n");
  EXPECT_THAT(read_file(::testing::TempDir()).error(), HasSubstr("it is a directory"));
}

TEST_F(Serving, KeysOfAKeysFileAreReadWithTheirOwnPlaces) {
  const std::string hash(64, 'a');
  const std::string keys =
      write("keys", "[[caller.api_key]]\nscope = \"a\"\nsha256 = \"" + hash + "\"\n");
  const auto config_of = [&](const std::string& file) {
    return write("pawl.toml",
                 upstream + "[caller]\nfrom = \"api-key\"\nkeys_file = \"" + file + "\"\n");
  };
  const auto read = read_config_file(config_of(keys));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->config.caller.api_keys.size(), 1U);
  EXPECT_EQ(read->config.caller.api_keys[0].sha256, hash);

  const std::string wrong =
      write("wrong", "[caller]\nfrom = \"single\"\n[[caller.api_key]]\nscope = \"a\"\n");
  EXPECT_EQ(in_lines(read_config_file(config_of(wrong)).error()),
            wrong +
                ":2:1: unknown setting 'from'; a keys_file has [[caller.api_key]] tables and "
                "nothing else\n" +
                wrong + ":3:1: [[caller.api_key]] needs 'sha256'\n");
  EXPECT_THAT(in_lines(read_config_file(config_of(write("empty", ""))).error()),
              HasSubstr("empty: has no keys"));
  EXPECT_THAT(in_lines(read_config_file(config_of(missing())).error()),
              HasSubstr("cannot be read: No such file or directory ([caller] keys_file)"));
}

TEST_F(Serving, SecretsComeFromTheirFilesNewestFirst) {
  const auto secret = [](const std::string& id, const std::string& file) {
    return "[[fingerprint_secret]]\nid = \"" + id + "\"\nfile = \"" + file + "\"\n";
  };
  const std::string long_enough = "0123456789abcdef";
  const std::string fine = write("fine", long_enough + "\n");
  const std::string crlf = write("crlf", long_enough + "\r\n");
  Config config = good(secret("b", fine) + secret("a", crlf));
  EXPECT_TRUE(load_secrets(config).empty());
  ASSERT_EQ(config.fingerprint_secrets.size(), 2U);
  EXPECT_EQ(config.fingerprint_secrets[0].id, "b");
  EXPECT_EQ(config.fingerprint_secrets[0].bytes, long_enough);
  EXPECT_EQ(config.fingerprint_secrets[1].bytes, long_enough);

  config = good(secret("b", write("short", "0123456789\n")) + secret("a", fine));
  EXPECT_THAT(in_lines(load_secrets(config)), HasSubstr("short: holds 10 bytes; a secret must have "
                                                        "16 or more"));
  EXPECT_TRUE(config.fingerprint_secrets.empty());
}

TEST_F(Serving, EncryptionKeysComeFromTheirFileNewestFirst) {
  const std::string key = " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
  const auto with = [](const std::string& file) {
    return "[encryption]\nkeys_file = \"" + file + "\"\n";
  };
  Config config = good(with(write("keys", "new" + key + "old" + key)));
  EXPECT_TRUE(load_secrets(config).empty());
  ASSERT_EQ(config.encryption.keys.keys.size(), 2U);
  EXPECT_EQ(config.encryption.keys.keys.front().id, "new");
  config = good(with(write("bad", "new" + key + "old nonsense\n")));
  EXPECT_THAT(in_lines(load_secrets(config)),
              HasSubstr("bad: line 2: the key \"old\" must be 32 bytes in base64"));
  EXPECT_TRUE(config.encryption.keys.keys.empty());
  EXPECT_THAT(in_lines(check_files(good(with(missing())))), HasSubstr("[encryption] keys_file"));
}

TEST_F(Serving, EveryFileThatIsNamedIsLookedAt) {
  const std::string file = missing();
  const Config config =
      good("[admin]\ntoken_file = \"" + file + "\"\n[caller]\nfrom = \"jwt\"\njwks_file = \"" +
           file + "\"\n[[fingerprint_secret]]\nid = \"a\"\nfile = \"" + file + "\"\n");
  const std::string troubles = in_lines(check_files(config));
  for (const char* setting :
       {"([admin] token_file)", "([caller] jwks_file)", "([[fingerprint_secret]] \"a\")"}) {
    EXPECT_THAT(troubles,
                HasSubstr(file + ": cannot be read: No such file or directory " + setting));
  }
}

TEST_F(Serving, ReadsForServingInOneCall) {
  EXPECT_TRUE(read_for_serving(std::nullopt,
                               {.listen = {}, .admin = {}, .upstream = "http://api", .store = {}}));
  EXPECT_FALSE(read_for_serving(std::nullopt, {}));
  const std::string file = write(
      "pawl.toml", upstream + "[[fingerprint_secret]]\nid = \"a\"\nfile = \"" +
                       write("secret", "0123456789abcdef") + "\"\n[policy]\nretention = \"1m\"\n");
  const auto read = read_for_serving(file, {});
  ASSERT_TRUE(read) << in_lines(read.error());
  EXPECT_EQ(read->config.fingerprint_secrets.size(), 1U);
  EXPECT_EQ(read->warnings.size(), 1U);
  EXPECT_FALSE(read_for_serving(missing(), {}));
}

TEST_F(Serving, AWorkerOfTheOutboxAloneNeedsNoUpstream) {
  const std::string outbox = "[[destination]]\nname = \"p\"\nurl = \"http://127.0.0.1:1\"\n";
  const auto why = [](const std::string& text) {
    return in_lines(check_ready_to_serve(good(text), Purpose::work));
  };
  EXPECT_EQ(why(outbox), "");
  EXPECT_THAT(why(""), HasSubstr("no upstream"));
  EXPECT_THAT(why("[policy]\nmode = \"async\"\n" + outbox), HasSubstr("no upstream"));
  EXPECT_THAT(why_not(outbox), HasSubstr("no upstream"));
}

}  // namespace
}  // namespace pawl::config
