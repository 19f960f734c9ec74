#include "src/core/printable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pawl/types/json.hpp"

namespace pawl {
namespace {

TEST(Printable, PlainTextAndLettersOfAnyLanguageStayAsTheyAre) {
  EXPECT_EQ(printable("caller:acme \\ \"x\""), "caller:acme \\ \"x\"");
  EXPECT_EQ(printable("Zażółć 支払い €"), "Zażółć 支払い €");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, NothingIsLeftThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\x0atwo\\x0d\\x09three");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u{009b}2J");  // the C1 form of ESC [
}

TEST(Printable, NothingShowsOtherLettersThanAreThere) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");
  EXPECT_EQ(printable("a\xe2\x81\xa6"
                      "b"),
            "a\\u{2066}b");
  EXPECT_EQ(printable("a\xe2\x80\x8b"
                      "b"),
            "a\\u{200b}b");
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b"),
            "a\\u{2028}b");
}

TEST(Printable, BytesThatAreNoTextAreShownAsBytes) {
  EXPECT_EQ(printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // a slash, overlong
}

TEST(Printable, JsonReadsBackAsTheSameValue) {
  const std::string text = "a\x1b\xc2\x9b\x7f\xe2\x80\xae\xf3\xa0\x80\x81 é";
  const std::string shown = printable_json("{\"a\":" + json::quote(text) + "}\n");
  for (const char* hidden : {"\x1b", "\xc2\x9b", "\x7f", "\xe2\x80\xae", "\xf3\xa0\x80\x81"}) {
    EXPECT_EQ(shown.find(hidden), std::string::npos) << shown;
  }
  const auto read = json::read(shown.substr(0, shown.size() - 1));
  ASSERT_TRUE(read) << shown;
  EXPECT_EQ(read->find("a")->text, text);
  EXPECT_EQ(printable_json("\"\xff\""), "\"\\ufffd\"");
}

TEST(Printable, AShellReadsOneWord) {
  EXPECT_EQ(shell_word("caller:acme"), "caller:acme");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b;$(rm)"), "'a b;$(rm)'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("~root"), "'~root'");
  EXPECT_EQ(shell_word("a\n'\x1b"), R"($'a\x0a\'\x1b')");
}

}  // namespace
}  // namespace pawl
