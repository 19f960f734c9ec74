// pawl verify at a shell: what it prints, what it sends, and how it ends.
#include <fstream>

#include "tests/verify/python_server.hpp"
#include "tests/verify/verify_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string payment = R"({"amount":1200})";

TEST(VerifyCommand, HelpFitsATerminalAndHasAnExample) {
  const testing::Finished help = run_verify({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Example: pawl verify"));
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(VerifyCommand, ListNamesEveryCheckAndWhatItNeeds) {
  const testing::Finished list = run_verify({"--list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, HasSubstr("killed-at-effect"));
  EXPECT_THAT(list.out, HasSubstr("needs --kill and --restart, --count"));
  EXPECT_TRUE(json::read(run_verify({"--list", "--format", "json"}).out));
}

TEST(VerifyCommand, ADryRunSendsNothing) {
  const testing::Finished dry =
      run_verify({"http://127.0.0.1:1/payments", "--body", payment, "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("send all at once: POST /payments, 50 times"));
}

TEST(VerifyCommand, TheUrlMayComeLast) {
  const testing::Finished dry =
      run_verify({"--body", payment, "--only", "replay-body", "-H", "A: b", "--dry-run", "-H",
                  "C: d", "http://127.0.0.1:1/payments"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
}

TEST(VerifyCommand, EndsWithTwoWhereNothingAnswers) {
  const testing::Finished refused = run_verify({"http://127.0.0.1:1/payments", "--body", payment});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("Connection refused"));
}

TEST(VerifyCommand, SaysWhatIsWrongWithItsFlags) {
  const auto err = [](Lines flags) {
    flags.insert(flags.begin(), {"http://127.0.0.1:1/", "--body", payment});
    const testing::Finished finished = run_verify(flags);
    EXPECT_EQ(finished.exit_code, 64) << finished.out;
    return finished.err;
  };
  EXPECT_THAT(err({"--only", "replay-bdy"}), HasSubstr("did you mean replay-body?"));
  EXPECT_THAT(err({"-H", "nonsense"}), HasSubstr("'NAME: VALUE'"));
  EXPECT_THAT(err({"--kill", "true"}), HasSubstr("--restart"));
  EXPECT_THAT(err({"--count-pointer", "/a"}), HasSubstr("--count"));
  EXPECT_THAT(err({"--other-body", "/missing"}), HasSubstr("can be changed"));
  EXPECT_THAT(err({"--format", "pdf"}), HasSubstr("table, json, junit or html"));
  EXPECT_THAT(err({"--profile", "visa"}), HasSubstr("ietf, stripe or auto"));
  EXPECT_EQ(run_verify({}).exit_code, 64);
  EXPECT_EQ(run_verify({"ftp://x/"}).exit_code, 64);
}

TEST(VerifyCommand, TellsProgressAndThenTheTable) {
  const PythonServer server;
  const testing::Finished finished = run_verify({server.url() + "/payments", "--body", payment,
                                                 "--only", "replay-body,killed", "--seed", "5"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("[1/4] replay-body: passed"));
  EXPECT_THAT(finished.out, StartsWith("passed  major    replay-body"));
  EXPECT_THAT(finished.out, HasSubstr("give --kill and --restart"));
  EXPECT_THAT(finished.out, HasSubstr("Grade A: 1 passed, 0 failed, 3 not run (seed 5)"));
}

TEST(VerifyCommand, WritesAReportThatCanBeSentAround) {
  const PythonServer server("replays-as-200");
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "report.html").string();
  const testing::Finished finished = run_verify(
      {server.url() + "/payments", "--body", payment, "-H", "Authorization: Bearer very-secret",
       "--only", "replay", "--format", "html", "--output", file});
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  std::ifstream stream(file);
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("the first answer was 201"));
  EXPECT_THAT(page, HasSubstr("Authorization: (hidden)"));
  EXPECT_THAT(page, Not(HasSubstr("very-secret")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(VerifyCommand, TakesOperationsFromAnOpenApiDocument) {
  const PythonServer server;
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "openapi.json").string();
  std::ofstream(file) << R"({"openapi":"3.1.0","paths":{"/payments":{"post":{"parameters":[
    {"in":"header","name":"Idempotency-Key"}],"requestBody":{"content":{"application/json":
    {"example":{"amount":1}}}}}},"/other":{"post":{}}}})";
  const testing::Finished finished =
      run_verify({server.url(), "--openapi", file, "--only", "replay-body", "--quiet"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("POST /payments\npassed"));
  EXPECT_THAT(finished.out, Not(HasSubstr("/other")));
}

}  // namespace
}  // namespace pawl::e2e
