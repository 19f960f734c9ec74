// What is doubtful about the key itself, or about what it stands for (section H).
#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

const std::string good_key = "a-good-key-012345";

struct KeyRow {
  std::string row;
  std::string fields;   // complete lines; "KEY" is a key of sufficient length
  std::string body;     // sent as it is
  int status = 400;     // 201: executed
  std::string problem;  // slug
};

void PrintTo(const KeyRow& row, std::ostream* out) { *out << row.row; }

std::string key_in(const std::string& row) { return "key-of-row-" + row + "-0123"; }

std::string bytes_of(const KeyRow& row) {
  std::string fields = row.fields;
  const std::string key = key_in(row.row);
  for (std::size_t at = fields.find("KEY"); at != std::string::npos; at = fields.find("KEY")) {
    fields.replace(at, 3, key);
  }
  return "POST /pay HTTP/1.1\r\nHost: a\r\n" + fields +
         "Content-Length: " + std::to_string(row.body.size()) + "\r\n\r\n" + row.body;
}

std::vector<KeyRow> rows() {
  const std::string name = "Idempotency-Key: ";
  const auto key = [&](const std::string& value) { return name + value + "\r\n"; };
  const std::string json = key("\"KEY\"") + "Content-Type: application/json\r\n";
  const auto typed = [&](const std::string& type) {
    return key("\"KEY\"") + "Content-Type: " + type + "\r\n";
  };
  return {
      {"H1", key("\"KEY\"") + key("\"KEY-other\""), "", 400, "key-invalid"},
      {"H2", key("\"KEY\"") + key("\"KEY\""), "", 400, "key-invalid"},
      {"H3", key("\"KEY") + key("and-the-rest\""), "", 400, "key-invalid"},
      {"H4_bytes", key(":YWJjZGVmZ2hpamtsbW5vcA==:"), "", 201, ""},  // bare: any characters but two
      {"H5_open", key("\"KEY"), "", 400, "key-invalid"},
      {"H5_escape", key("\"KEY\\x\""), "", 400, "key-invalid"},
      {"H5_rest", key("\"KEY\"b"), "", 400, "key-invalid"},
      {"H5_utf8", key("\"KEY\xc3\xa9\""), "", 400, "key-invalid"},
      {"H5_bare_utf8", key("KEY\xc3\xa9"), "", 400, "key-invalid"},
      {"H5_list", key("KEY, KEY"), "", 400, "key-invalid"},
      {"H6_quoted", key("\"\""), "", 400, "key-invalid"},
      {"H6_bare", key(""), "", 400, "key-invalid"},
      {"H7", key("\"KEY\";x=1"), "", 201, ""},
      {"H9_long", key('"' + std::string(300, 'k') + '"'), "", 400, "key-invalid"},
      {"H9_longer", key('"' + std::string(2000, 'k') + '"'), "", 400, "key-invalid"},
      {"H9_short", key("\"k\""), "", 400, "key-invalid"},
      {"H10_cookie", "Cookie: Idempotency-Key=KEY\r\n", "", 400, "key-missing"},
      {"H10_name", "X-Idempotency-Key: \"KEY\"\r\n", "", 400, "key-missing"},
      {"H12", key("\"KEY\"") + "Content-Encoding: gzip\r\n", "x", 415, "body-invalid"},
      {"H12_identity", key("\"KEY\"") + "Content-Encoding: identity\r\n", "x", 201, ""},
      {"H13_twice", json, R"({"a":1,"a":2})", 400, "body-invalid"},
      {"H13_mark", json, "\xef\xbb\xbf{}", 400, "body-invalid"},
      {"H13_utf16", json, std::string("{\0}\0", 4), 400, "body-invalid"},
      {"H13_surrogate", json, R"({"a":"\ud800"})", 400, "body-invalid"},
      {"H13_latin1", json, "{\"a\":\"\xe9\"}", 400, "body-invalid"},
      {"H14_utf16", typed("application/json; charset=utf-16"), "{}", 415, "body-invalid"},
      {"H14_two", typed("application/json; charset=utf-8; charset=utf-16"), "{}", 415,
       "body-invalid"},
      {"H14_blank", typed("application/json; charset = utf-16"), "{}", 415, "body-invalid"},
      {"H14_utf8", typed("application/json; charset=\"UTF-8\""), "{}", 201, ""},
  };
}

class KeyRows : public SharedGateway, public ::testing::WithParamInterface<KeyRow> {};

TEST_P(KeyRows, IsAnsweredAsItsRowSays) {
  const std::size_t before = upstream().count();
  const bool executed = GetParam().status == 201;
  RawClient client(gateway().port());
  client.send(bytes_of(GetParam()));
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, GetParam().status) << answer.body;
  EXPECT_EQ(upstream().count(), before + (executed ? 1 : 0));
  if (executed) return;
  EXPECT_THAT(answer.body, ::testing::HasSubstr("urn:pawl:problem:" + GetParam().problem));
  if (GetParam().problem != "key-missing") expect_closing(answer, client);
  EXPECT_EQ(state_of(gateway(), key_in(GetParam().row)), "404");
}

INSTANTIATE_TEST_SUITE_P(Row, KeyRows, ::testing::ValuesIn(rows()),
                         [](const ::testing::TestParamInfo<KeyRow>& row) { return row.param.row; });

class Keys : public OwnGateway {};

// H4: with the standard's syntax only a String will do.
TEST_F(Keys, AreStringsWhereOnlyThoseAreTaken) {
  start("[policy]\nkey_syntax = \"ietf\"\n");
  for (const std::string value :
       {"abcdefghijklmnopq", "12345678901234567", ":YWJjZGVmZ2hpamtsbW5vcA==:", "?1", "@1659578233",
        "%\"abcdefghijklmnopq\"", "'abcdefghijklmnopq'", "8e03978e-40d5-43e8-bc93-6894a57f9324"}) {
    EXPECT_EQ(testing::post(gateway().port(), {.key = value}).status, 400) << value;
  }
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(testing::post(gateway().port(), {.key = "\"abcdefghijklmnopq\""}).status, 201);
}

TEST_F(Keys, AreComparedDecodedAndByCase) {  // H7, H8
  start();
  const auto replayed = [&](const std::string& key) {
    return testing::post(gateway().port(), {.key = key}).value("Idempotent-Replayed") == "true";
  };
  EXPECT_FALSE(replayed("\"quoted\\\"key-012345\""));
  EXPECT_TRUE(replayed("\"quoted\\\"key-012345\";x=1"));
  EXPECT_FALSE(replayed("\"quoted%22key-012345\""));
  EXPECT_FALSE(replayed("\"Quoted\\\"key-012345\""));
  EXPECT_EQ(upstream.count(), 3U);
}

// H10: neither of these is the header field, and neither is read.
TEST_F(Keys, AreNotFoundInTargetsAndTrailers) {
  start();
  RawClient client(gateway().port());
  client.send("POST /pay?Idempotency-Key=" + good_key +
              " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nIdempotency-Key: " +
              good_key + "\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(state_of(gateway(), good_key), "404");
}

TEST_F(Keys, StandForTheMethodThatWasSent) {  // H11
  start();
  testing::post(gateway().port(),
                {.key = good_key, .headers = {{"X-HTTP-Method-Override", "DELETE"}}});
  ASSERT_EQ(upstream.count(), 1U);
  EXPECT_EQ(upstream.requests()[0].header("X-HTTP-Method-Override"), std::nullopt);
}

TEST_F(Keys, AreEchoedAsSentAndCannotSplitTheAnswer) {
  start();
  RawClient client(gateway().port());
  client.send("POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: \"" + good_key +
              "\";a=\"%0d%0aSet-Cookie: b\"\r\nContent-Length: 0\r\n\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.value("Idempotency-Key"), '"' + good_key + "\";a=\"%0d%0aSet-Cookie: b\"");
  EXPECT_EQ(answer.header("Set-Cookie"), std::nullopt);
}

// The upstream must not take another credential for the caller's than the gateway did.
TEST_F(Keys, BelongToACallerWhoIsNotInDoubt) {
  start(R"([caller]
from = "api-key"
header = "X-Api-Key"
[[caller.api_key]]
scope = "acme"
sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
)");
  const auto with = [&](const testing::WireHeaders& headers) {
    return testing::post(gateway().port(), {.key = good_key, .headers = headers}).status;
  };
  EXPECT_EQ(with({{"X-Api-Key", "wrong"}}), 401);
  EXPECT_EQ(with({{"X-Api-Key", "secret"}, {"X-Api-Key", "other"}}), 400);
  EXPECT_EQ(with({{"X-Api-Key", "secret"}, {"X_Api_Key", "other"}}), 400);
  EXPECT_EQ(with({{"X-Api-Key", "secret"}, {"Connection", "x-api-key"}}), 400);
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(with({{"X-Api-Key", "secret"}}), 201);
}

}  // namespace
}  // namespace pawl::e2e
