#include "src/config/sources.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "src/config/files.hpp"
#include "src/config/read_for_tests.hpp"
#include "src/config/show.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const std::string asked =
    "[[source]]\nname = \"bank\"\nurl = \"https://bank.example/v1/find?k={key}\"\n";
const std::string rule =
    "[[source.rule]]\nstatus = [200, \"3xx\"]\nwhere = { \"/status\" = [\"paid\", 1, true] }\n"
    "then = \"completed\"\nresponse_status = 201\nresponse_body = '{\"id\": {/id}}'\n";
const std::string told =
    "[[source]]\nname = \"bank\"\n[source.webhook]\nsecret_files = \"/s\"\nevent_id = \"/id\"\n";
const std::string event_rule =
    "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n";

TEST(Sources, AreReadWithDefaults) {
  const Config config = good(asked + rule);
  ASSERT_EQ(config.sources.size(), 1U);
  const Source& source = config.sources.front();
  EXPECT_EQ(source.name, "bank");
  EXPECT_TRUE(source.address.tls);
  EXPECT_EQ(source.address.host, "bank.example");
  EXPECT_EQ(source.address.port, 443);
  EXPECT_EQ(reconcile::fill_url(source.target, {"a b", "", "", ""}).value(), "/v1/find?k=a%20b");
  EXPECT_EQ(source.timeout, 10s);
  EXPECT_EQ(source.patience.visibility_window, 5min);
  EXPECT_EQ(source.patience.absent_confirmations, 2);
  EXPECT_EQ(source.rules.front().then, reconcile::Then::completed);
  EXPECT_EQ(source.rules.front().statuses.size(), 2U);
  EXPECT_EQ(source.rules.front().where.front().values,
            (std::vector<std::string>{"paid", "1", "true"}));
  EXPECT_EQ(source.rules.front().reply.status, 201);
  EXPECT_FALSE(source.webhook);
}

TEST(Sources, AreShownAsTheyAreRead) {
  for (const std::string& text :
       {asked + "backoff = \"1s\"\n[source.headers]\nAuthorization = \"Bearer {file:/t}\"\n" + rule,
        told +
            "scheme = \"hmac\"\nheader = \"X-S\"\nprefix = \"sha256=\"\nkey = \"/k\"\n"
            "scope = \"caller:default\"\n" +
            event_rule,
        told + "derived_key = \"/k\"\nevent_time = \"/t\"\n" + event_rule,
        asked + "scopes = [\"caller:a\", \"api:*\"]\n" + rule,
        told + "resource_id = \"/r\"\n" + event_rule}) {
    const std::string shown = show(good(text), Secrets::shown);
    EXPECT_EQ(show(good(shown), Secrets::shown), shown);
    EXPECT_THAT(shown, HasSubstr("[[source]]"));
  }
}

TEST(Sources, WrongOnesAreExplained) {
  struct Row {
    std::string text;
    std::string says;
  };
  const std::vector<Row> rows{
      {"[[source]]\nurl = \"http://h/{key}\"\n" + rule, "needs 'name'"},
      {"[[source]]\nname = \"a b\"\nurl = \"http://h/{key}\"\n" + rule, "letters, digits"},
      {"[[source]]\nname = \"a\"\n", "needs 'url'"},
      {"[[source]]\nname = \"a\"\nurl = \"ftp://h/{key}\"\n" + rule, "an address to ask at"},
      {"[[source]]\nname = \"a\"\nurl = \"http://h/all\"\n" + rule, "which request is asked about"},
      {"[[source]]\nname = \"a\"\nurl = \"http://h/{kye}\"\n" + rule, "{kye} is not known"},
      {"[[source]]\nname = \"a\"\nurl = \"http://h/{key}#x\"\n" + rule, "no '#'"},
      {"[[source]]\nname = \"a\"\nurl = \"http://h/%2{derived_key}\"\n" + rule, "no % of its own"},
      {asked, "needs [[source.rule]]"},
      {asked + "[[source.rule]]\nthen = \"absent\"\n", "fits every answer"},
      {asked + "[[source.rule]]\nstatus = \"5xx\"\nthen = \"absent\"\n",
       "a 5xx of the source says nothing"},
      {asked + "[[source.rule]]\nstatus = \"*\"\nthen = \"absent\"\n",
       "a 5xx of the source says nothing"},
      {asked + "[[source.rule]]\nstatus = 99\nthen = \"absent\"\n", "an HTTP status like 200"},
      {asked + "[[source.rule]]\nstatus = 200\n", "needs 'then'"},
      {asked + "[[source.rule]]\nstatus = 200\nthen = \"complete\"\n", "\"completed\""},
      {asked + "[[source.rule]]\nstatus = 404\nthen = \"absent\"\nresponse_status = 200\n",
       "goes with then = \"completed\""},
      {asked + "[[source.rule]]\nstatus = 200\nthen = \"completed\"\nresponse_body = \"{keys}\"\n",
       "{keys} is not known"},
      {asked + "[[source.rule]]\nstatus = 200\nwhere = { status = \"x\" }\nthen = \"unknown\"\n",
       "must be a JSON pointer"},
      {asked + "[[source.rule]]\nstats = 200\nthen = \"unknown\"\n", "did you mean 'status'?"},
      {asked + "backoff = \"2h\"\n" + rule, "must not be over 'backoff_max'"},
      {asked + rule + asked + rule, "called \"bank\" already"},
      {"[policy]\nreconcile = \"bnak\"\n" + asked + rule, "did you mean \"bank\"?"},
      {"[[route]]\nmatch = \"POST /a\"\nreconcile = \"x\"\n", "no [[source]] has that name"},
      {told + event_rule, "either 'key' and 'scope', or 'derived_key', or 'resource_id'"},
      {told + "derived_key = \"/d\"\nresource_id = \"/r\"\n" + event_rule, "either 'key'"},
      {asked + "scopes = [\"caller:*a\"]\n" + rule, "each must be a scope"},
      {asked + rule +
           "[[destination]]\nname = \"mail\"\nurl = \"http://h\"\nreconcile = \"bnak\"\n",
       "did you mean \"bank\"?"},
      {told + "key = \"/k\"\n" + event_rule, "needs 'scope'"},
      {told + "key = \"/k\"\nscope = \"/s\"\nderived_key = \"/d\"\n" + event_rule, "either 'key'"},
      {told + "derived_key = \"/d\"\n", "needs 'rule'"},
      {told + "derived_key = \"d\"\n" + event_rule, "JSON pointer into the event"},
      {told + "derived_key = \"/d\"\nscheme = \"hmac\"\n" + event_rule, "needs 'header'"},
      {told + "derived_key = \"/d\"\nprefix = \"x\"\n" + event_rule, "goes with scheme = \"hmac\""},
      {told + "derived_key = \"/d\"\n[[source.webhook.rule]]\nthen = \"pending\"\n",
       "needs 'where'"},
  };
  for (const Row& row : rows) EXPECT_THAT(errors_of(row.text), HasSubstr(row.says)) << row.text;
}

TEST(Sources, WarnOfADeclineThatCountsAsASuccess) {
  const std::string top = "upstream = \"http://127.0.0.1:3000\"\n";
  const auto source_rule = [&](const std::string& values, const std::string& more) {
    return warnings_of(top + asked + "[[source.rule]]\nstatus = 200\nwhere = { \"/s\" = " + values +
                       " }\nthen = " + more);
  };
  const auto event = [&](const std::string& values, const std::string& more) {
    return warnings_of(top + told +
                       "derived_key = \"/d\"\n[[source.webhook.rule]]\nwhere = { \"/type\" = " +
                       values + " }\nthen = " + more);
  };
  for (const auto& of :
       std::vector<std::function<std::string(std::string, std::string)>>{source_rule, event}) {
    for (const char* value : {"charge.failed", "Declined", "canceled", "ERROR", "refused", "voided",
                              "rejected", "denied"}) {
      EXPECT_THAT(of("[\"paid\", \"" + std::string(value) + "\"]", "\"completed\"\n"),
                  HasSubstr("a rule of its own with then = \"declined\""))
          << value;
    }
    EXPECT_THAT(of("\"declined\"", "\"completed\"\nresponse_status = 201\n"),
                HasSubstr("sounds as if it had not"));
    EXPECT_EQ(of("\"declined\"", "\"completed\"\nresponse_status = 402\n"), "")
        << "told as a refusal, it counts as one";
    EXPECT_EQ(of("\"declined\"", "\"declined\"\nresponse_status = 201\n"), "");
    EXPECT_EQ(of("[\"paid\", \"captured\"]", "\"completed\"\n"), "");
    EXPECT_THAT(of("\"declined\"", "\"declined\"\n"), HasSubstr("needs 'response_status'"));
  }
  EXPECT_EQ(warnings_of(top + asked + "[[source.rule]]\nstatus = 402\nthen = \"declined\"\n"), "")
      << "the provider's own status says it";
}

// Asked by a key that it was never sent, a provider says "never seen", and it is executed again.
TEST(Sources, AreAskedByTheKeyThatIsForwarded) {
  const std::string absent = "[[source.rule]]\nstatus = 404\nthen = \"absent\"\n";
  const auto config = [&](const std::string& url, const std::string& forwarded) {
    return "[[source]]\nname = \"bank\"\nurl = \"https://h/v1?s={scope}&" + url + "\"\n" + absent +
           "[[route]]\nmatch = \"POST /a\"\nreconcile = \"bank\"\nforward_key = \"" + forwarded +
           "\"\n";
  };
  EXPECT_EQ(errors_of(config("k={key}", "same")), "");
  EXPECT_EQ(errors_of(config("k={derived_key}", "derived")), "");
  EXPECT_EQ(errors_of(config("k={key}&d={derived_key}", "derived")), "");
  EXPECT_EQ(errors_of(config("r={resource_id}", "same")), "");
  EXPECT_THAT(errors_of(config("k={derived_key}", "same")),
              HasSubstr("ask by {key}, or set forward_key = \"derived\""));
  EXPECT_THAT(errors_of(config("k={key}", "derived")), HasSubstr("ask by {derived_key}"));
  EXPECT_THAT(errors_of(config("k={key}&r={resource_id}", "derived")), HasSubstr("never seen"));
  const std::string by_derived =
      "[[source]]\nname = \"bank\"\nurl = \"https://h/v1?s={scope}&k={derived_key}\"\n" + absent;
  EXPECT_THAT(errors_of("[policy]\nreconcile = \"bank\"\n" + by_derived), HasSubstr("[policy]"));
  EXPECT_THAT(errors_of("[policy]\nforward_key = \"derived\"\nreconcile = \"bank\"\n" + by_derived +
                        "[[route]]\nmatch = \"POST /a\"\nforward_key = \"same\"\n"),
              HasSubstr("route \"POST /a\" forwards the client's key"))
      << "what it takes from [policy] counts";
  const std::string to =
      "[[destination]]\nname = \"mail\"\nurl = \"http://h\"\nreconcile = \"bank\"\n";
  EXPECT_EQ(errors_of(by_derived + to), "");
  EXPECT_THAT(errors_of("[[source]]\nname = \"bank\"\nurl = \"https://h/v1?s={scope}&k={key}\"\n" +
                        absent + to),
              HasSubstr("the outbox sends a derived key of its own"));
  EXPECT_EQ(errors_of("[policy]\nreconcile = \"bank\"\n"
                      "[[source]]\nname = \"bank\"\nurl = \"https://h/{derived_key}\"\n" +
                      rule),
            "")
      << "nothing is released by it";
}

TEST(Sources, WarnOfWhatAClientChoosesInAPath) {
  const auto of = [](const std::string& url) {
    return warnings_of("upstream = \"http://127.0.0.1:3000\"\n[[source]]\nname = \"a\"\nurl = \"" +
                       url + "\"\n" + rule);
  };
  EXPECT_THAT(of("https://h/v1/charges/{key}"), HasSubstr("{key} in its path"));
  EXPECT_THAT(of("https://h/v1/charges/{key}"),
              HasSubstr("{derived_key} where routes have forward_key = \"derived\""));
  EXPECT_THAT(of("https://h/v1/{resource_id}?k={key}"), HasSubstr("{resource_id} in its path"));
  EXPECT_EQ(of("https://h/v1/charges/{derived_key}"), "");
  EXPECT_EQ(of("https://h/v1/charges?key={key}&r={resource_id}"), "");
}

TEST(Sources, AreNotAskedByAKeyThatTwoTenantsMayShare) {
  const auto api_key = [](const std::string& scope, char digit) {
    return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + std::string(64, digit) +
           "\"\n";
  };
  const std::string by_key = "[caller]\nfrom = \"api-key\"\n";
  const std::string two = by_key + api_key("a", '1') + api_key("b", '2');
  const auto of = [](const std::string& caller, const std::string& target) {
    return errors_of(caller + "[[source]]\nname = \"bank\"\nurl = \"https://bank.example" + target +
                     "\"\n" + rule);
  };
  const std::vector<std::string> told_apart{
      two, by_key + "keys_file = \"/k\"\n", "[caller]\nfrom = \"jwt\"\nsecret_file = \"/s\"\n",
      "[caller]\nfrom = \"header\"\nheader = \"X-T\"\ntrusted = [\"127.0.0.1/32\"]\n"};
  for (const std::string& caller : told_apart) {
    for (const char* bad : {"/?k={key}", "/{key}", "/?k={key}&r={resource_id}"}) {
      EXPECT_THAT(of(caller, bad), HasSubstr("add {scope}, or ask by {derived_key}")) << bad;
    }
    for (const char* fine : {"/?k={key}&t={scope}", "/{scope}/x?k={key}", "/{derived_key}",
                             "/?k={key}&d={derived_key}", "/{resource_id}"}) {
      EXPECT_EQ(of(caller, fine), "") << fine;
    }
  }
  // One scope: nobody else's key is the same one.
  EXPECT_EQ(of("", "/?k={key}"), "");
  EXPECT_EQ(of("[caller]\nfrom = \"single\"\n", "/?k={key}"), "");
  EXPECT_EQ(of(by_key + api_key("a", '1') + api_key("a", '2'), "/?k={key}"), "");
}

TEST(Sources, SpeakForTheScopesTheyAreGiven) {
  Source source;
  EXPECT_TRUE(speaks_for(source, "caller:a"));
  source.scopes = {"caller:a", "api:*"};
  EXPECT_TRUE(speaks_for(source, "caller:a"));
  EXPECT_TRUE(speaks_for(source, "api:x"));
  EXPECT_FALSE(speaks_for(source, "caller:ab"));
  EXPECT_FALSE(speaks_for(source, "lib:a"));
}

TEST(Sources, TakeSecretsFromFiles) {
  const std::string path = ::testing::TempDir() + "pawl_source_secret";
  std::ofstream(path) << "0123456789abcdef\n";
  Config config =
      good(asked + "[source.headers]\nAuthorization = \"Bearer {file:" + path + "}\"\n" + rule);
  EXPECT_EQ(in_lines(load_secrets(config)), "");
  EXPECT_EQ(config.sources.front().sent_headers,
            (Headers{{"Authorization", "Bearer 0123456789abcdef"}}));
  EXPECT_THAT(show(config, Secrets::masked), ::testing::Not(HasSubstr("0123456789abcdef")));
  Config missing = good(asked + "[source.headers]\nA = \"{file:/nowhere/x}\"\n" + rule);
  EXPECT_THAT(in_lines(load_secrets(missing)), HasSubstr("cannot be read"));
  std::ofstream(path) << "short";
  Config webhook = good("[[source]]\nname = \"bank\"\n[source.webhook]\nsecret_files = \"" + path +
                        "\"\nevent_id = \"/id\"\nderived_key = \"/d\"\n" + event_rule);
  EXPECT_THAT(in_lines(load_secrets(webhook)), HasSubstr("a secret must have 16 or more"));
  std::ofstream(path) << "two\nlines";
  Config lines = good(asked + "[source.headers]\nA = \"{file:" + path + "}\"\n" + rule);
  EXPECT_THAT(in_lines(load_secrets(lines)), HasSubstr("must hold one line"));
}

TEST(ReconciliationPage, ExamplesAreRight) {
  const std::string text = read_file(PAWL_SOURCE_DIR "/docs/reconciliation.md").value();
  const std::string opening = "```toml\n";
  int examples = 0;
  for (std::size_t at = 0; (at = text.find(opening, at)) != std::string::npos; ++examples) {
    at += opening.size();
    EXPECT_EQ(warnings_of(text.substr(at, text.find("```", at) - at)), "");
  }
  EXPECT_EQ(examples, 3);
}

}  // namespace
}  // namespace pawl::config
