#include "src/config/caller.hpp"

#include <gmock/gmock.h>

#include "src/config/read_for_tests.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* hash_a = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
constexpr const char* hash_b = "60303AE22B998861BCE3B28F33EEC1BE758A213C86C93C076DBE9F558C11C752";
constexpr const char* hash_of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string key(const std::string& scope, const std::string& hash) {
  return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hash + "\"\n";
}

Caller caller(const std::string& lines) { return good("[caller]\n" + lines).caller; }
std::string caller_errors(const std::string& lines) { return errors_of("[caller]\n" + lines); }

TEST(Caller, ReadsApiKeys) {
  const Caller read = caller("from = \"api-key\"\n" + key("a", hash_a) + key("b", hash_b));
  EXPECT_EQ(read.from, CallerFrom::api_key);
  EXPECT_EQ(read.header, "Authorization");
  ASSERT_EQ(read.api_keys.size(), 2U);
  EXPECT_EQ(read.api_keys[0].scope, "a");
  EXPECT_EQ(read.api_keys[0].sha256, hash_a);
  EXPECT_EQ(read.api_keys[1].sha256.substr(0, 8), "60303ae2") << "lower case";
  EXPECT_EQ(caller("from = \"api-key\"\nheader = \"X-Api-Key\"\n" + key("a", hash_a)).header,
            "X-Api-Key");
}

TEST(Caller, ReadsWhatElseCredentialsComeInWhereNobodyIsChosen) {
  const Caller read = caller("credential_headers = [\"X-Session\", \"x-account\", \"X-SESSION\"]");
  EXPECT_FALSE(read.from);
  EXPECT_THAT(read.credential_headers, ElementsAre("x-account", "x-session"));
  EXPECT_THAT(show_caller(read), HasSubstr("credential_headers = [\"x-account\", \"x-session\"]"));
  EXPECT_THAT(caller_errors("credential_headers = [\"X Y\"]"), HasSubstr("'credential_headers'"));
  EXPECT_THAT(caller_errors("from = \"single\"\ncredential_headers = [\"X-Y\"]"),
              HasSubstr("'credential_headers' is for where no 'from' is given"));
}

TEST(Caller, ReadsEveryOtherWay) {
  EXPECT_EQ(caller("from = \"single\"").from, CallerFrom::single);
  const Caller header =
      caller("from = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"127.0.0.1/32\", \"::1\"]");
  EXPECT_EQ(header.header, "X-Tenant");
  EXPECT_THAT(header.trusted, ElementsAre("127.0.0.1/32", "::1"));
  const Caller jwt = caller(
      "from = \"jwt\"\njwks_file = \"/j\"\ntenant_claim = [\"org_id\", \"sub\"]\nissuer = \"i\"\n"
      "audience = \"u\"\nleeway = \"30s\"");
  EXPECT_EQ(jwt.jwks_file, "/j");
  EXPECT_THAT(jwt.tenant_claim, ElementsAre("org_id", "sub"));
  EXPECT_EQ(jwt.issuer, "i");
  EXPECT_EQ(jwt.audience, "u");
  EXPECT_EQ(jwt.leeway, 30s);
  const Caller secret = caller("from = \"jwt\"\nsecret_file = \"/s\"\ntenant_claim = \"org_id\"");
  EXPECT_EQ(secret.secret_file, "/s");
  EXPECT_THAT(secret.tenant_claim, ElementsAre("org_id"));
  EXPECT_THAT(caller("from = \"jwt\"\nsecret_file = \"/s\"").tenant_claim, ElementsAre("sub"));
  EXPECT_EQ(caller("from = \"mtls\"\nclient_ca_file = \"/ca\"").client_ca_file, "/ca");
  const Caller asked =
      caller("from = \"subrequest\"\nurl = \"https://auth/who\"\nscope_header = \"X-Org\"");
  EXPECT_EQ(asked.url, "https://auth/who");
  EXPECT_EQ(asked.scope_header, "X-Org");
  EXPECT_THAT(asked.request_headers, ElementsAre("Authorization", "Cookie"));
  EXPECT_EQ(asked.timeout, 2s);
  EXPECT_EQ(asked.cache_for, 10s);
  const Caller chosen = caller(
      "from = \"subrequest\"\nurl = \"https://auth/who\"\nscope_header = \"X-Org\"\n"
      "request_headers = [\"X-Session\"]\ntimeout = \"500ms\"\ncache_for = \"0s\"");
  EXPECT_THAT(chosen.request_headers, ElementsAre("X-Session"));
  EXPECT_EQ(chosen.timeout, 500ms);
  EXPECT_EQ(chosen.cache_for, 0s);
  EXPECT_EQ(caller("from = \"jwt\"\njwks_url = \"https://id/keys\"").jwks_url, "https://id/keys");
}

TEST(Caller, RefusesWhatDoesNotGoTogether) {
  struct Row {
    std::string lines;
    const char* message;
  };
  for (const Row& row : {
           Row{"from = \"apikey\"", "did you mean \"api-key\"?"},
           Row{"from = \"single\"\nheader = \"X\"",
               "f:3:1: 'header' does not go with from = \"single\"; it is a setting of from = "
               "\"api-key\" or \"header\""},
           Row{"from = \"jwt\"\nsecret_file = \"s\"\n" + key("a", hash_a),
               "'api_key' does not go with from = \"jwt\"; it is a setting of from = \"api-key\""},
           Row{"jwks_file = \"j\"", "f:2:1: 'jwks_file' needs from = \"jwt\" in [caller]"},
           Row{"from = \"header\"\nheader = \"X\"",
               "f:1:1: [caller] from = \"header\" needs 'trusted'"},
           Row{"from = \"header\"\ntrusted = []", "needs 'header'"},
           Row{"from = \"mtls\"", "needs 'client_ca_file'"},
           Row{"from = \"subrequest\"\nurl = \"https://a\"", "needs 'scope_header'"},
           Row{"from = \"api-key\"", "needs [[caller.api_key]] or 'keys_file'"},
           Row{"from = \"api-key\"\nkeys_file = \"k\"\n" + key("a", hash_a),
               "takes [[caller.api_key]] or 'keys_file', not both"},
           Row{"from = \"jwt\"", "needs 'jwks_file', 'jwks_url' or 'secret_file'"},
           Row{"from = \"jwt\"\njwks_file = \"a\"\nsecret_file = \"b\"",
               "f:4:15: [caller] from = \"jwt\" takes 'jwks_file', 'jwks_url' or 'secret_file', "
               "one "
               "of them alone"},
           Row{"from = \"jwt\"\njwks_url = \"id.example\"",
               "'jwks_url' is \"id.example\"; it must be a URL without a password"},
           Row{"from = \"jwt\"\nsecret_file = \"b\"\ntenant_claim = \"a b\"",
               "without blanks and '='"},
           Row{"from = \"subrequest\"\nurl = \"https://a\"\nscope_header = \"X\"\n"
               "request_headers = []",
               "it must name the headers that credentials come in"},
           Row{"from = \"subrequest\"\nurl = \"https://a\"\nscope_header = \"X\"\n"
               "request_headers = [\"X Y\"]",
               "it must be a header's name"},
           Row{"from = \"jwt\"\nsecret_file = \"b\"\ntenant_claim = []", "it must name a claim"},
           Row{"from = \"jwt\"\nsecret_file = \"b\"\ntenant_claim = 5",
               "it must be a text or a list of texts"},
           Row{"from = \"header\"\nheader = \"X Y\"\ntrusted = [\"host\"]",
               "'header' is \"X Y\"; it must be a header's name"},
           Row{"from = \"header\"\nheader = \"X\"\ntrusted = [\"host\"]",
               "'trusted' is \"host\"; it must be an address or a network"},
           Row{"from = \"subrequest\"\nurl = \"https://u:p@a\"\nscope_header = \"X\"",
               "it must be a URL without a password"},
           Row{"from = \"api-key\"\n[[caller.api_key]]\nscope = \"a\"", "needs 'sha256'"},
           Row{"from = \"api-key\"\n" + key("", hash_a), "'scope' is \"\"; it must not be empty"},
           Row{"from = \"api-key\"\n" + key("a\\nb", hash_a),
               "it must have no control characters in it"},
           Row{"from = \"api-key\"\n" + key("a", hash_of_nothing),
               "it is the SHA-256 of an empty text, which is no key"},
           Row{"from = \"jwt\"\njwks_url = \"http://id.example/keys\"",
               "it must be https:// unless it is on this machine"},
           Row{"from = \"subrequest\"\nurl = \"http://10.0.0.7/who\"\nscope_header = \"X\"",
               "it must be https:// unless it is on this machine"},
           Row{"from = \"api-key\"\napi_key = 5", "write [[caller.api_key]], with two brackets"},
           Row{"from = \"api-key\"\napi_key = [5]", "must be a table with 'scope' and 'sha256'"},
           Row{"from = \"api-key\"\n" + key("a", hash_a) + key("b", hash_a),
               "f:6:1: this 'sha256' stands in an earlier [[caller.api_key]] already"},
       }) {
    EXPECT_THAT(caller_errors(row.lines), HasSubstr(row.message)) << row.lines;
  }
}

TEST(Caller, AKeyWrittenInPlaceOfItsHashIsNotRepeatedInTheMessage) {
  const std::string errors = caller_errors("from = \"api-key\"\n" + key("a", "sk_live_1234"));
  EXPECT_THAT(errors, HasSubstr("'sha256': it must be the 64 hexadecimal digits"));
  EXPECT_THAT(errors, Not(HasSubstr("sk_live")));
}

TEST(Caller, ReadingLooksAtNoFiles) {
  EXPECT_EQ(caller("from = \"api-key\"\nkeys_file = \"/nowhere\"").keys_file, "/nowhere");
}

}  // namespace
}  // namespace pawl::config
