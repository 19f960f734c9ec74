#include "src/core/structured_field.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace pawl::sf {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

struct Accepted {
  std::string_view text;
  BareItem value;
  std::string_view canonical;
};

TEST(StructuredField, EveryBareItemIsReadAndWrittenInItsOneSpelling) {
  const std::vector<Accepted> table{
      {"0", std::int64_t{0}, "0"},
      {"-0", std::int64_t{0}, "0"},
      {"-042", std::int64_t{-42}, "-42"},
      {"999999999999999", std::int64_t{999'999'999'999'999}, "999999999999999"},
      {"-999999999999999", std::int64_t{-999'999'999'999'999}, "-999999999999999"},
      {"1.5", Decimal{1500}, "1.5"},
      {"-0.050", Decimal{-50}, "-0.05"},
      {"-0.0", Decimal{0}, "0.0"},
      {"7.000", Decimal{7000}, "7.0"},
      {"999999999999.999", Decimal{999'999'999'999'999}, "999999999999.999"},
      {R"("")", ""s, R"("")"},
      {R"("a, b")", "a, b"s, R"("a, b")"},
      {R"("a\"b\\c")", R"(a"b\c)"s, R"("a\"b\\c")"},
      {"*a:b/c~1", Token{"*a:b/c~1"}, "*a:b/c~1"},
      {"Abc", Token{"Abc"}, "Abc"},
      {"::", Binary{""}, "::"},
      {":AP8=:", Binary{"\x00\xFF"s}, ":AP8=:"},
      {":AP8:", Binary{"\x00\xFF"s}, ":AP8=:"},
      {":AP9=:", Binary{"\x00\xFF"s}, ":AP8=:"},
      {"?0", false, "?0"},
      {"?1", true, "?1"},
      {"@-62135596800", Date{-62'135'596'800}, "@-62135596800"},
      {R"(%"")", DisplayString{""}, R"(%"")"},
      {R"(%"%e2%82%ac %22\%25")", DisplayString{"\u20AC \"\\%"}, R"(%"%e2%82%ac %22\%25")"},
      {R"(%"%00%61")", DisplayString{"\0a"s}, R"(%"%00a")"},
      {"  a  ", Token{"a"}, "a"},
  };
  for (const Accepted& each : table) {
    SCOPED_TRACE(each.text);
    const auto item = parse_item(each.text);
    ASSERT_TRUE(item) << item.error().what;
    EXPECT_EQ(item->value, each.value);
    EXPECT_TRUE(item->parameters.empty());
    const auto text = serialize(*item);
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(*text, each.canonical);
  }
}

struct Refused {
  std::string_view text;
  std::size_t at_byte;
};

TEST(StructuredField, WhatIsNoItemIsRefusedAtTheByteWhereItEnds) {
  const std::vector<Refused> table{
      {"", 0},
      {"   ", 3},
      {"\ta", 0},
      {"a\t", 1},
      {"a b", 2},
      {"a,b", 1},
      {"(a)", 0},
      {"\0"sv, 0},
      {"\xC3\xA4"sv, 0},
      {"-", 1},
      {"--1", 1},
      {"1.", 2},
      {"1.2345", 6},
      {".5", 0},
      {"1234567890123.0", 13},
      {"1234567890123456", 16},
      {R"(")", 1},
      {R"("abc)", 4},
      {R"("a\)", 3},
      {R"("a\n")", 3},
      {"\"a\tb\"", 2},
      {"\"a\0b\""sv, 2},
      {"\"a\x7F\""sv, 2},
      {"\"\xFF\""sv, 1},
      {R"("a"b)", 3},
      {":", 1},
      {":YQ==", 1},
      {":Y:", 1},
      {":Y===:", 1},
      {":YQ=:", 1},
      {":YWJj=:", 1},
      {":YWJj====:", 1},
      {":=:", 1},
      {":Y Q=:", 1},
      {":_w==:", 1},
      {"?", 1},
      {"?2", 1},
      {"?true", 1},
      {"@", 1},
      {"@a", 1},
      {"@1.0", 4},
      {"@1000000000000000", 17},
      {"%", 1},
      {"%a", 1},
      {R"(%"a)", 3},
      {R"(%"%C3%BC")", 3},
      {R"(%"%c")", 4},
      {R"(%"%)", 3},
      {R"(%"%ff")", 6},
      {"a;", 2},
      {"a; ", 3},
      {"a ;b", 2},
      {"a;B", 2},
      {"a;1", 2},
      {"a;b=", 4},
      {"a;b= 1", 4},
      {"a;b =1", 4},
      {"a;b;", 4},
      {"a;b=(1)", 4},
  };
  for (const Refused& each : table) {
    SCOPED_TRACE(each.text);
    const auto item = parse_item(each.text);
    ASSERT_FALSE(item);
    EXPECT_EQ(item.error().at_byte, each.at_byte) << item.error().what;
    EXPECT_FALSE(item.error().what.empty());
  }
}

TEST(StructuredField, DisplayStringsAreStrictUtf8) {
  const std::vector<std::string_view> valid{"%c2%80",    "%df%bf",       "%e0%a0%80",   "%ed%9f%bf",
                                            "%ee%80%80", "%f0%90%80%80", "%f4%8f%bf%bf"};
  for (const std::string_view each : valid) {
    EXPECT_TRUE(parse_item("%\"" + std::string(each) + '"')) << each;
  }
  const std::vector<std::string_view> invalid{
      "%80",          "%c0%80",       "%c1%bf", "%c2",       "%c2a",      "%e0%9f%bf",
      "%ed%a0%80",    "%ed%bf%bf",    "%e2%82", "%e2%82a",   "%e2a%82",   "%f0%8f%bf%bf",
      "%f4%90%80%80", "%f5%80%80%80", "%ff",    "%f0%90%80", "%c2%80%80", "%f0%90a%80"};
  for (const std::string_view each : invalid) {
    EXPECT_FALSE(parse_item("%\"" + std::string(each) + '"')) << each;
  }
}

TEST(StructuredField, ParametersKeepTheirOrderAndTheLastValueOfEach) {
  const auto item = parse_item(R"("k";b=1;  *c;b=?0;a-._9="x")");
  ASSERT_TRUE(item) << item.error().what;
  const Parameters expected{{"b", false}, {"*c", true}, {"a-._9", "x"s}};
  EXPECT_EQ(item->parameters, expected);
  const auto text = serialize(*item);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"("k";b=?0;*c;a-._9="x")");
}

TEST(StructuredField, AsManyParametersAsTheLimitAndNoMore) {
  std::string text = "a";
  for (std::size_t i = 0; i < parameters_max; ++i) text += ";p" + std::to_string(i);
  const auto item = parse_item(text + ";p0=1");
  ASSERT_TRUE(item) << item.error().what;
  EXPECT_EQ(item->parameters.size(), parameters_max);
  EXPECT_FALSE(parse_item(text + ";q"));

  Item one_more = *item;
  one_more.parameters.emplace_back("q", true);
  EXPECT_FALSE(serialize(one_more));
}

TEST(StructuredField, LongStringsAndParameterNamesAreRead) {
  const std::string text(5000, 'x');
  const auto item = parse_item('"' + text + "\";" + text + "=1");
  ASSERT_TRUE(item) << item.error().what;
  EXPECT_EQ(item->value, BareItem{text});
  EXPECT_EQ(item->parameters.front().first, text);
}

TEST(StructuredField, WhatTheGrammarCannotCarryIsNotWritten) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  const std::vector<Item> table{
      {std::int64_t{1'000'000'000'000'000}, {}},
      {low, {}},
      {Decimal{1'000'000'000'000'000}, {}},
      {Decimal{low}, {}},
      {Date{-1'000'000'000'000'000}, {}},
      {Date{low}, {}},
      {"a\nb"s, {}},
      {"\x7F"s, {}},
      {"\xC3\xA4"s, {}},
      {Token{""}, {}},
      {Token{"1a"}, {}},
      {Token{"a b"}, {}},
      {Token{"a\0"s}, {}},
      {DisplayString{"\xFF"}, {}},
      {true, {{"", true}}},
      {true, {{"A", true}}},
      {true, {{"a b", true}}},
      {true, {{"a", "\t"s}}},
      {true, {{"a", true}, {"a", false}}},
  };
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto text = serialize(table[row]);
    EXPECT_FALSE(text) << "row " << row << " became " << *text;
  }
}

}  // namespace
}  // namespace pawl::sf
