// `pawl config check` says of a broken file what `pawl serve` would say, and fails where it would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "pawl/types/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/serve_process.hpp"

namespace pawl {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;

struct Broken {
  std::string text;
  std::string says;
};

const std::string up = "upstream = \"http://127.0.0.1:1\"\n";
const std::string hash(64, 'a');

class BrokenConfig : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() / name; }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static Finished run(std::vector<std::string> arguments) {
    // Should it start after all, it is not waited for.
    arguments.insert(arguments.begin(), {"timeout", "30", PAWL_BINARY});
    return testing::run_program(arguments);
  }

  std::vector<Broken> table() {
    const std::string secret = write("secret", std::string(32, 's'));
    const std::string short_one = write("short", "12345");
    const std::string empty = write("empty", "");
    const std::string loose = write("loose", std::string(32, 's'));
    ::chmod(loose.c_str(), 0666);
    const std::string lines = write("lines", "one\ntwo\n");
    const std::string no_keys = write("no_keys", "");
    const std::string bad_keys = write("bad_keys", "[[caller.api_key]]\nscope = \"a\"\n");
    const std::string database = write("loose.db", "");
    ::chmod(database.c_str(), 0666);
    const std::string source =
        "[[source]]\nname = \"bank\"\nurl = \"http://127.0.0.1:1/?key={key}\"\n";
    const std::string rule = "[[source.rule]]\nthen = \"unknown\"\n";
    const std::string webhook =
        "[[source]]\nname = \"bank\"\n[source.webhook]\nevent_id = \"/i\"\n"
        "derived_key = \"/k\"\n";
    const std::string told =
        "[[source.webhook.rule]]\nwhere = { \"/a\" = \"b\" }\nthen = \"completed\"\n";
    const std::string route = "[[route]]\nmatch = \"POST /a\"\n";
    return {
        {"upstream = http", "this is not TOML"},
        {up + "[policy]\nlease = 30s\n", "this is not TOML"},
        {up + "retension = \"1h\"\n", "unknown setting 'retension'"},
        {up + "[polcy]\n", "did you mean [policy]?"},
        {up + "[policy]\nlease = \"0s\"\n", "it must be from 1s to 24h"},
        {up + "threads = \"many\"\n", "it must be a whole number"},
        {up + "listen = \"8080\"\n", "it must be an address and a port"},
        {"upstream = \"127.0.0.1:3000\"\n", "it must start with http://"},
        {"upstream = \"http://127.0.0.1:3000/api\"\n", "'upstream'"},
        {"listen = \"127.0.0.1:0\"\n", "there is no upstream"},
        {"", "there is no upstream"},
        {up + "listen = \"0.0.0.0:8080\"\n", "without distinguishing callers"},
        {up + "[admin]\nlisten = \"0.0.0.0:9090\"\n", "it needs [admin] token_file"},
        {up + "listen = \"127.0.0.1:7000\"\n[admin]\nlisten = \"127.0.0.1:7000\"\n",
         "each needs an address of its own"},
        {up + "[admin]\ntoken_file = \"" + path("nowhere") + "\"\n", "No such file"},
        {up + "[admin]\ntoken_file = \"" + empty + "\"\n", "holds 0 bytes"},
        {up + "[admin]\ntoken_file = \"" + short_one + "\"\n", "holds 5 bytes"},
        {up + "[admin]\ntoken_file = \"" + loose + "\"\n", "run `chmod 600 " + loose + "`"},
        {up + "[admin]\ntoken_file = \"" + folder_.path().string() + "\"\n", "it is a directory"},
        {up + "[admin]\ntoken_file = \"{env:PAWL_TEST_NOT_SET}\"\n", "no such variable"},
        {up + "store = \"mysql://db\"\n", "it must be \"sqlite:PATH\""},
        {up + "store = \"sqlite:" + path("nowhere") + "/pawl.db\"\n", "there is no such folder"},
        {up + "store = \"sqlite:" + folder_.path().string() + "\"\n", "it is a folder"},
        {up + "store = \"sqlite:" + database + "\"\n", "run `chmod 600 " + database + "`"},
        {up + "store = \"postgres://pawl@db/pawl?nonsense=1\"\n", "nonsense"},
        {up + "store = \"host=db nonsense=1\"\n", "nonsense"},
        {up + "store = \"postgres://pawl:hunter2@[db/pawl\"\n", "cannot read it"},
        {up + "store = \"postgres://pawl:${PGPASSWORD}@db/pawl\"\n", "{env:PGPASSWORD}"},
        {up + "store = \"{env:PAWL_TEST_NOT_SET}\"\n", "{env:PAWL_TEST_NOT_SET}: there is no such"},
        {up + "store = \"{file:" + path("nowhere") + "}\"\n", "No such file"},
        {up + "store = \"{env:HOME\"\n", "with its brace"},
        {up + "store = \"postgres://pawl:***@db/pawl\"\n", "its password is masked"},
        {up + "[policy]\ntransactional = true\n", "needs PostgreSQL"},
        {up + "store = \"postgres://db/pawl\"\n" + route +
             "transactional = true\nmode = \"observe\"\n",
         "do not go together"},
        {up + route + "max_request_age = \"1m\"\n", "needs 'request_time'"},
        {up + route + "max_request_age = \"47h\"\nrequest_time = \"header:X-At\"\n",
         "more than half of 'retention'"},
        {up + "[caller]\nfrom = \"jwt\"\nsecret_file = \"" + short_one + "\"\n", "holds 5 bytes"},
        {up + "[caller]\nfrom = \"jwt\"\njwks_file = \"" + secret + "\"\n", "is no JSON"},
        {up + "[caller]\nfrom = \"jwt\"\njwks_url = \"id.example\"\n", "it must be a URL"},
        {up + "[caller]\nfrom = \"jwt\"\nsecret_file = \"" + path("nowhere") + "\"\n",
         "No such file"},
        {up + "[caller]\nfrom = \"header\"\nheader = \"X-T\"\ntrusted = [\"localhost\"]\n",
         "it must be an address or a network"},
        {up + "[caller]\nfrom = \"mtls\"\nclient_ca_file = \"" + secret + "\"\n", "needs [tls]"},
        {up + "[caller]\nfrom = \"subrequest\"\nurl = \"http://a#b\"\nscope_header = \"X-S\"\n",
         "neither blanks nor '#'"},
        {up + "[caller]\nfrom = \"api-key\"\n", "needs [[caller.api_key]] or 'keys_file'"},
        {up + "[caller]\nfrom = \"api-key\"\nkeys_file = \"" + path("nowhere") + "\"\n",
         "No such file"},
        {up + "[caller]\nfrom = \"api-key\"\nkeys_file = \"" + no_keys + "\"\n", "has no keys"},
        {up + "[caller]\nfrom = \"api-key\"\nkeys_file = \"" + bad_keys + "\"\n", "needs 'sha256'"},
        {up + "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\nscope = \"a\"\nsha256 = \"x\"\n",
         "64 hexadecimal digits"},
        {up + "[key_api]\ncallers = [\"acme\"]\n", "callers are not distinguished"},
        {up + route + route, "never gets a request"},
        {up + "[[route]]\nmatch = \"/a\"\n", "'match'"},
        {up + route + "key_scope = \"caller+route\"\n", "needs a 'name'"},
        {up + route + "reconcile = \"bank\"\n", "no [[source]] has that name"},
        {up + "[[fingerprint_secret]]\nid = \"a\"\nfile = \"" + short_one + "\"\n",
         "holds 5 bytes"},
        {up + "[[destination]]\nname = \"p\"\nurl = \"http://p\"\nsecret_file = \"" + short_one +
             "\"\n",
         "holds 5 bytes"},
        {up + source + "[source.headers]\nA = \"{file:" + path("nowhere") + "}\"\n" + rule,
         "No such file"},
        {up + source + "[source.headers]\nA = \"{file:" + lines + "}\"\n" + rule,
         "must hold one line"},
        {up + source + "[source.headers]\nA = \"Bearer ${TOKEN}\"\n" + rule, "{env:TOKEN}"},
        {up + webhook + "secret_files = [\"" + short_one + "\"]\n" + told, "holds 5 bytes"},
    };
  }

  testing::TemporaryFolder folder_;
};

TEST_F(BrokenConfig, CheckFailsWhereverServeWouldAndNamesThePlace) {
  const std::vector<Broken> rows = table();
  EXPECT_GE(rows.size(), 45U);
  const std::regex place(R"(^[^:]+:\d+:\d+: .+)");
  for (const Broken& row : rows) {
    const std::string file = write("pawl.toml", row.text);
    const Finished checked = run({"config", "check", file});
    const Finished served = run({"serve", "--config", file});
    EXPECT_EQ(served.exit_code, 65) << row.text << served.err;
    EXPECT_EQ(checked.exit_code, 65) << row.text << checked.out;
    EXPECT_EQ(checked.err, served.err) << row.text;
    EXPECT_THAT(checked.err, HasSubstr(row.says)) << row.text;
    EXPECT_THAT(checked.err, Not(HasSubstr("hunter2")));
    std::istringstream errors(checked.err);
    for (std::string line; std::getline(errors, line);) {
      EXPECT_TRUE(std::regex_match(line, place) || line.find("has no keys") != std::string::npos)
          << row.text << line;
    }
    const Finished in_json = run({"config", "check", "--json", file});
    EXPECT_EQ(in_json.exit_code, 65);
    const auto document = json::read(in_json.out);
    ASSERT_TRUE(document) << in_json.out;
    EXPECT_THAT(in_json.out, HasSubstr("{\"ok\":false,"));
    const json::Value& first = document->find("errors")->items.front();
    EXPECT_THAT(checked.err, HasSubstr(first.find("message")->text));
    EXPECT_THAT(checked.err, HasSubstr(first.find("file")->text));
  }
}

TEST_F(BrokenConfig, AMissingFileAndAFlagAreJudgedAlike) {
  EXPECT_EQ(run({"config", "check", path("nowhere")}).err,
            run({"serve", "--config", path("nowhere")}).err);
  const std::string file = write("pawl.toml", "listen = \"127.0.0.1:0\"\n");
  const Finished checked =
      run({"config", "check", file, "--upstream", "http://127.0.0.1:1", "--listen", "0.0.0.0:1"});
  EXPECT_EQ(checked.exit_code, 65);
  EXPECT_THAT(checked.err, HasSubstr("listening on 0.0.0.0:1"));
  EXPECT_THAT(checked.err, Not(HasSubstr("pawl.toml"))) << "it does not stand in the file";
  EXPECT_EQ(run({"config", "check", file, "--upstream", "http://127.0.0.1:1"}).exit_code, 0);
}

TEST_F(BrokenConfig, SecretsFromTheEnvironmentAndFromFilesAreRight) {
  ::setenv("PAWL_TEST_PASSWORD", "p@ss/word", 1);
  const std::string token = write("token", std::string(32, 't'));
  const std::string file = write(
      "pawl.toml",
      up +
          "store = \"postgres://pawl:{env:PAWL_TEST_PASSWORD}@db/pawl\"\n[admin]\ntoken_file = "
          "\"{file:" +
          token + "}\"\n");
  const Finished checked = run({"config", "check", file});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const Finished shown = run({"config", "show", "--config", file});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, Not(HasSubstr("p@ss")));
}

TEST_F(BrokenConfig, ShowTellsNoSecretOfAHeader) {
  const std::string file =
      write("pawl.toml", up + "[[source]]\nname = \"bank\"\nurl = \"http://a/?key={key}\"\n"
                              "[source.headers]\nAuthorization = \"Bearer hunter2\"\n"
                              "Accept = \"text/plain\"\nX-Other = \"{file:/etc/pawl/other}\"\n"
                              "[[source.rule]]\nthen = \"unknown\"\n");
  const Finished shown = run({"config", "show", "--config", file});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(shown.out, HasSubstr("\"Accept\" = \"text/plain\""));
  EXPECT_THAT(shown.out, HasSubstr("{file:/etc/pawl/other}"));
  EXPECT_EQ(run({"config", "check", write("shown.toml", shown.out)}).exit_code, 65)
      << "what is masked is not taken for the secret";
}

TEST_F(BrokenConfig, AMistypedWordOfTheCommandLineGetsTheNearest) {
  struct Row {
    std::vector<std::string> words;
    std::string meant;
  };
  for (const Row& row : std::vector<Row>{{{"serv"}, "'serve'"},
                                         {{"confg", "check"}, "'config'"},
                                         {{"config", "chek", "x"}, "'check'"},
                                         {{"serve", "--upstrem", "http://a"}, "'--upstream'"},
                                         {{"serve", "--stor=sqlite:x"}, "'--store'"},
                                         {{"serve", "--store", "x", "--lisen", "y"}, "'--listen'"},
                                         {{"config", "check", "x", "--jsn"}, "'--json'"}}) {
    const Finished finished = run(row.words);
    EXPECT_EQ(finished.exit_code, 64);
    EXPECT_THAT(finished.err, HasSubstr("Did you mean " + row.meant + "?")) << finished.err;
  }
  EXPECT_THAT(run({"xyzzy"}).err, Not(HasSubstr("Did you mean")));
}

}  // namespace
}  // namespace pawl
