// What the compiler and the linker were asked for is in the program that they made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string readelf(const std::string& what, const std::string& file) {
  const testing::Finished read = testing::run_program({PAWL_READELF, what, "--wide", file});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_NE(read.out, "");
  return read.out;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<std::size_t>(std::distance(
      std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
}

TEST(Hardening, TheProgramIsLoadedAnywhereAndItsTablesAreReadOnly) {
  EXPECT_THAT(readelf("--file-header", PAWL_BINARY), ContainsRegex("Type: +DYN"));
  const std::string dynamic = readelf("--dynamic", PAWL_BINARY);
  EXPECT_THAT(dynamic, ContainsRegex("\\(FLAGS_1\\).*PIE"));
  EXPECT_THAT(dynamic, ContainsRegex("\\(FLAGS\\).*BIND_NOW"));
  EXPECT_THAT(dynamic, Not(HasSubstr("TEXTREL")));
  EXPECT_THAT(readelf("--program-headers", PAWL_BINARY), HasSubstr("GNU_RELRO"));
}

TEST(Hardening, NothingIsBothWritableAndExecutable) {
  const std::string headers = readelf("--program-headers", PAWL_BINARY);
  EXPECT_THAT(headers, ContainsRegex("GNU_STACK.* RW  "));
  EXPECT_THAT(headers, Not(ContainsRegex("(LOAD|GNU_STACK).* RWE ")));
}

TEST(Hardening, OverrunsOfBuffersAndContainersEndTheProcess) {
  const std::string symbols = readelf("--dyn-syms", PAWL_BINARY);
  EXPECT_THAT(symbols, HasSubstr(" __stack_chk_fail@"));
  EXPECT_GE(count(symbols, " __(mem|str|read|pread|recv|poll|snprintf|vsnprintf)[a-z]*_chk@"), 1U);
  EXPECT_THAT(symbols, HasSubstr("__glibcxx_assert_fail"));
}

// A debugger finds them by the link; what ships is a fifth of the size.
TEST(Hardening, DebugSymbolsStandBesideTheProgram) {
  const std::string shipped = readelf("--sections", PAWL_BINARY);
  EXPECT_THAT(shipped, HasSubstr(" .gnu_debuglink "));
  EXPECT_THAT(shipped, Not(HasSubstr(" .debug_info ")));
  EXPECT_THAT(readelf("--sections", PAWL_BINARY ".debug"), HasSubstr(" .debug_info "));
}

#ifdef __x86_64__
// The start-up objects of Debian's C library carry no such note, so the program as a whole cannot:
// every object of ours does.
TEST(Hardening, EveryObjectOfOursHasLandingPadsAndAllowsAShadowStack) {
  std::istringstream archives(PAWL_ARCHIVES);
  for (std::string archive; std::getline(archives, archive, ':');) {
    const std::string notes = readelf("--notes", archive);
    const std::size_t objects = count(notes, "\nFile: ");
    EXPECT_GE(objects, 1U) << archive;
    EXPECT_EQ(count(notes, "x86 feature: IBT, SHSTK"), objects) << archive;
  }
}
#endif

}  // namespace
}  // namespace pawl::e2e
