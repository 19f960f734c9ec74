#include <gtest/gtest.h>

#include <regex>

#include "pawl/types/json.hpp"
#include "tests/support/process.hpp"

namespace pawl {
namespace {

using testing::Finished;

Finished pawl_with(std::vector<std::string> arguments, std::string_view input = {}) {
  arguments.insert(arguments.begin(), PAWL_BINARY);
  return testing::run_program(arguments, input);
}

std::string fingerprint_of(std::string_view body) {
  const Finished finished = pawl_with({"fingerprint", "--json"}, body);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto document = json::read(finished.out);
  return document ? document->find("fingerprint")->text : "not JSON: " + finished.out;
}

TEST(FingerprintCommand, TellsNumbersApartThatADoubleCannot) {
  EXPECT_NE(fingerprint_of(R"({"b":9007199254740993,"a":1.0})"),
            fingerprint_of(R"({"b":9007199254740992,"a":1.0})"));
}

TEST(FingerprintCommand, AgreesOnEveryWayToWriteOneRequest) {
  const std::string expected = fingerprint_of(R"({"b":9007199254740993,"a":1.0})");
  EXPECT_EQ(fingerprint_of(R"({"b":9007199254740993,"a":1})"), expected);
  EXPECT_EQ(fingerprint_of(R"({"a":1.0,"b":9007199254740993})"), expected);
  EXPECT_EQ(fingerprint_of("{ \"a\" : 10e-1,\n \"\\u0062\" : 9007199254740993 }"), expected);
}

TEST(FingerprintCommand, PrintsVersionCanonicalFormAndFingerprint) {
  const Finished finished = pawl_with({"fingerprint", "--json"}, R"({"b":[1.50],"a":null})");
  const auto document = json::read(finished.out);
  ASSERT_TRUE(document) << finished.out;
  EXPECT_EQ(document->find("version")->text, "1");
  EXPECT_EQ(document->find("canonical")->text, R"({"a":null,"b":[1.5]})");
}

TEST(FingerprintCommand, PrintsPlainRfc8785OutputWithoutANewline) {
  const Finished finished = pawl_with({"fingerprint", "--plain-jcs"}, R"({"a":9007199254740993})");
  EXPECT_EQ(finished.out, R"({"a":9007199254740992})");
}

TEST(FingerprintCommand, SaysInOneLineWhatIsWrongAndAtWhichByte) {
  struct Row {
    const char* body;
    const char* message;
  };
  for (const Row& row : {Row{R"({"a":1,)", "the body is not JSON: unexpected end at byte 7"},
                         Row{R"({"a":1,"a":2})", "duplicate name at byte 7"},
                         Row{R"({"a":1e999999999})", "at byte 5"}}) {
    const Finished finished = pawl_with({"fingerprint"}, row.body);
    EXPECT_EQ(finished.exit_code, 65);
    EXPECT_EQ(finished.out, "");
    EXPECT_NE(finished.err.find(row.message), std::string::npos) << finished.err;
    EXPECT_EQ(finished.err.find('\n'), finished.err.size() - 1) << finished.err;
  }
}

TEST(PawlCommand, HelpFitsAnEightyColumnTerminal) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"fingerprint", "--help"}}) {
    const Finished finished = pawl_with(arguments);
    EXPECT_EQ(finished.exit_code, 0);
    std::size_t start = 0;
    while (start < finished.out.size()) {
      const std::size_t end = finished.out.find('\n', start);
      EXPECT_LE(end - start, 80U) << finished.out.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST(PawlCommand, SaysItsVersionAndRefusesWhatItDoesNotKnow) {
  const std::string version = pawl_with({"--version"}).out;
  EXPECT_TRUE(std::regex_match(version, std::regex("pawl [0-9.]+ \\(commit .+; .+, .+\\)\n")))
      << version;
  const Finished unknown = pawl_with({"frobnicate"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_NE(unknown.err.find("frobnicate"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace pawl
