#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/process.hpp"

namespace pawl {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigCommand : public ::testing::Test {
 protected:
  ConfigCommand() { std::filesystem::create_directories(folder_); }
  ~ConfigCommand() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    const std::string path = (folder_ / "pawl.toml").string();
    std::ofstream(path) << text;
    return path;
  }

 private:
  // Tests run at the same time, each in a process of its own.
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("pawl_config_command_") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

Finished config(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PAWL_BINARY, "config"});
  return testing::run_program(arguments);
}

constexpr const char* right = R"(
upstream = "http://127.0.0.1:3000"
store = "postgres://pawl:hunter2@db/pawl"
[policy]
profile = "stripe"
[[route]]
match = "POST /v1/payments"
lease = "10s"
)";

TEST_F(ConfigCommand, CheckSaysOkAboutARightFile) {
  const std::string file = write(right);
  const Finished finished = config({"check", file});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, file + ": ok\n");
  EXPECT_EQ(finished.err, "");
}

TEST_F(ConfigCommand, CheckWarnsAndStaysWithZero) {
  const std::string file =
      write("upstream = \"http://a\"\n[policy]\nretention = \"5m\"\nmode = \"async\"\n");
  const Finished finished = config({"check", file});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(file + ": ok\n"));
  EXPECT_THAT(finished.out, HasSubstr(file + ":3:13: warning: 'retention' is 5m"));
}

TEST_F(ConfigCommand, CheckNamesEveryTroubleByItsPlace) {
  const std::string file = write("[policy]\nretension = \"48h\"\nlease = \"0s\"\n");
  const Finished finished = config({"check", file});
  EXPECT_EQ(finished.exit_code, 65);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err,
            file + ":2:1: unknown setting 'retension' in [policy]; did you mean 'retention'?\n" +
                file + ":3:9: 'lease' is \"0s\"; it must be from 1s to 24h\n");
}

TEST_F(ConfigCommand, AFileThatIsNotThereIsBadInput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"check", "/nowhere"}, {"show", "--config", "/nowhere"}}) {
    const Finished finished = config(arguments);
    EXPECT_EQ(finished.exit_code, 65);
    EXPECT_EQ(finished.err, "/nowhere: cannot be read: No such file or directory\n");
  }
}

TEST_F(ConfigCommand, ShowPrintsWhatIsInForceWithoutPasswords) {
  const Finished finished = config({"show", "--config", write(right)});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("\nstore = \"postgres://pawl:***@db/pawl\"\n"));
  EXPECT_THAT(finished.out, HasSubstr("\nretention = \"24h\"\n"));
  EXPECT_THAT(finished.out, HasSubstr("\n[[route]]\nmatch = \"POST /v1/payments\"\nlease = "));
  EXPECT_THAT(finished.out, Not(HasSubstr("hunter2")));
}

TEST_F(ConfigCommand, ShowWithoutAFilePrintsTheDefaultsAndTheyCheck) {
  const Finished shown = config({"show"});
  EXPECT_EQ(shown.exit_code, 0);
  const Finished checked = config({"check", write(shown.out), "--upstream", "http://a"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST_F(ConfigCommand, AuditListsEveryRouteAndWhatGuardsIt) {
  const Finished finished =
      config({"audit", write("[[route]]\nmatch = \"POST /v1/payments\"\nprofile = \"stripe\"\n"
                             "[[route]]\nmatch = \"POST /v1/search\"\nkey = \"off\"\n"
                             "[[route]]\nmatch = \"POST /v1/orders\"\nmode = \"observe\"\n"
                             "[[route]]\nmatch = \"GET /v1/payments\"\n"
                             "[key_api]\ncallers = [\"default\"]\n")});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "POST /v1/payments  key required; a 5xx is the answer\n"
            "POST /v1/search    NOTHING: key = \"off\"\n"
            "POST /v1/orders    NOTHING: mode = \"observe\" only watches\n"
            "GET /v1/payments   passes: this method may be repeated\n"
            "(any other)        key required; a 5xx is held\n"
            "(key API)          owner and fence, for default; a lapsed lease: unknown\n");
}

TEST_F(ConfigCommand, WrongUsageIsSixtyFour) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"check"}, {"chek", "x"}, {"show", "--nonsense"}}) {
    EXPECT_EQ(config(arguments).exit_code, 64);
  }
}

TEST_F(ConfigCommand, HelpFitsEightyColumnsAndHasAnExample) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"check", "--help"},
                                                    {"show", "--help"},
                                                    {"audit", "--help"}}) {
    const Finished finished = config(arguments);
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_THAT(finished.out, HasSubstr("Example: pawl config "));
    std::size_t start = 0;
    while (start < finished.out.size()) {
      const std::size_t end = finished.out.find('\n', start);
      EXPECT_LE(end - start, 80U) << finished.out.substr(start, end - start);
      start = end + 1;
    }
  }
}

}  // namespace
}  // namespace pawl
