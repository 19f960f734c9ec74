#include "pawl/types/json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace pawl::json {
namespace {

using namespace std::string_view_literals;

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

struct Refused {
  std::string text;
  Error error;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    const auto value = read(each.text);
    ASSERT_FALSE(value) << each.text;
    EXPECT_EQ(value.error().what, each.error.what) << each.text;
    EXPECT_EQ(value.error().at_byte, each.error.at_byte) << each.text;
  }
}

std::string string_in(std::string_view text) {
  const auto value = read(text);
  if (!value) return "refused: " + value.error().what;
  return value->kind == Kind::string ? value->text : "not a string";
}

Decimal decimal_in(std::string_view text) {
  const auto value = read(text);
  EXPECT_TRUE(value) << text;
  return value ? decimal_of(*value) : Decimal{};
}

bool is_accepted(std::string_view text) { return read(text).has_value(); }

TEST(Json, EveryKindOfValueIsRead) {
  const auto value =
      read(R"( {"n":null,"t":true,"f":false,"d":-1.50e2,"s":"x","a":[1,[]],"o":{}} )");
  ASSERT_TRUE(value);
  ASSERT_EQ(value->kind, Kind::object);
  EXPECT_EQ(value->members.size(), 7u);
  EXPECT_EQ(value->find("n")->kind, Kind::null);
  EXPECT_TRUE(value->find("t")->boolean);
  EXPECT_EQ(value->find("f")->kind, Kind::boolean);
  EXPECT_FALSE(value->find("f")->boolean);
  EXPECT_EQ(value->find("d")->text, "-1.50e2");
  EXPECT_EQ(value->find("s")->text, "x");
  ASSERT_EQ(value->find("a")->items.size(), 2u);
  EXPECT_EQ(value->find("a")->items[1].kind, Kind::array);
  EXPECT_EQ(value->find("o")->kind, Kind::object);
  EXPECT_EQ(value->find("absent"), nullptr);
  EXPECT_EQ(value->find("s")->find("x"), nullptr);
}

TEST(Json, MembersStayInTheOrderTheyCame) {
  const auto value = read(R"({"b":1,"a":2})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->members[0].name, "b");
  EXPECT_EQ(value->members[1].name, "a");
}

TEST(Json, BadSyntaxIsRefusedAtItsFirstWrongByte) {
  expect_refused({
      {"", {"unexpected end", 0}},
      {"  ", {"unexpected end", 2}},
      {"[1", {"unexpected end", 2}},
      {"[1,]", {"unexpected character", 3}},
      {"[1 2]", {"unexpected character", 3}},
      {"{\"a\":1,}", {"unexpected character", 7}},
      {"{\"a\" 1}", {"unexpected character", 5}},
      {"{a:1}", {"unexpected character", 1}},
      {"tru", {"unexpected end", 3}},
      {"trux", {"unexpected character", 3}},
      {"nul1", {"unexpected character", 3}},
      {"1 2", {"text after the value", 2}},
      {"01", {"text after the value", 1}},
      {"-", {"unexpected end", 1}},
      {"-a", {"unexpected character", 1}},
      {"1.", {"unexpected end", 2}},
      {".5", {"unexpected character", 0}},
      {"1e", {"unexpected end", 2}},
      {"1e+-1", {"unexpected character", 3}},
      {"+1", {"unexpected character", 0}},
      {"NaN", {"unexpected character", 0}},
      {"\"a", {"unexpected end", 2}},
      {"\"\\", {"unexpected end", 2}},
      {"\"\\x\"", {"unknown escape", 2}},
      {"\"\\u12g4\"", {"unexpected character", 5}},
      {"\"\\u-123\"", {"unexpected character", 3}},
      {"\"\\u12", {"unexpected end", 5}},
      {"\"\n\"", {"control character in a string", 1}},
      {std::string("\"\0\"", 3), {"control character in a string", 1}},
      {"\f1", {"unexpected character", 0}},
      {"// no\n1", {"unexpected character", 0}},
  });
}

TEST(Json, AByteOrderMarkIsRefused) {
  expect_refused({{"\xEF\xBB\xBF{}", {"byte order mark", 0}}});
}

TEST(Json, DuplicateNamesAreRefusedWhereTheSecondBegins) {
  expect_refused({
      {R"({"a":1,"a":1})", {"duplicate name", 7}},
      {R"({"a":1,"\u0061":2})", {"duplicate name", 7}},
      {R"({"\/":1,"b":3,"/":2})", {"duplicate name", 14}},
      {"{\"\xF0\x9F\x98\x82\":1,\"\\ud83d\\uDE02\":2}", {"duplicate name", 10}},
      {R"({"":1,"":2})", {"duplicate name", 6}},
      {R"([{"o":{"x":{"y":1},"x":{}}}])", {"duplicate name", 19}},
      {R"({"a":1,"b":2,"b":3,"a":4})", {"duplicate name", 13}},
  });
}

TEST(Json, EqualNamesInDifferentObjectsAreNoDuplicates) {
  EXPECT_TRUE(is_accepted(R"({"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1}})"));
  EXPECT_TRUE(is_accepted(R"({"a":1,"A":1,"a ":1})"));
}

TEST(Json, ADuplicateAmongManyNamesIsFoundQuickly) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"n" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(is_accepted(text + "\"last\":0}"));
  const std::size_t second = text.size();
  text += R"("n77":0,"n5":0})";
  expect_refused({{text, {"duplicate name", second}}});
}

TEST(Json, EscapesAreDecoded) {
  EXPECT_EQ(string_in(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_in(R"("\u0041\u00e9\u20AC\ud83d\ude02")"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x82");
  EXPECT_EQ(string_in(R"("\u0000")"), "\0"sv);
  EXPECT_EQ(string_in("\"\x7F\""), "\x7F");
}

TEST(Json, NoncharactersAreAcceptedBecauseRfc8785NamesOnlySurrogates) {
  EXPECT_EQ(string_in(R"("\uFFFE")"), "\xEF\xBF\xBE");
  EXPECT_EQ(string_in("\"\xF4\x8F\xBF\xBF\""), "\xF4\x8F\xBF\xBF");
}

TEST(Json, LoneAndInvertedSurrogatesAreRefusedWhereTheirEscapeBegins) {
  for (const std::string_view escapes :
       {R"(\ud800)", R"(\udc00)", R"(\udbff\ud800)", R"(\ude02\ud83d)", R"(\ud83dx)", R"(\ud83d\n)",
        R"(\ud83d\u0041)", R"(\uD83D \uDE02)", R"(\ud83d\\ude02)"}) {
    expect_refused({{"[\"x" + std::string(escapes) + "\"]", {"lone surrogate", 3}},
                    {"{\"" + std::string(escapes) + "\":1}", {"lone surrogate", 2}}});
  }
}

TEST(Json, InvalidUtf8IsRefusedWhereItsSequenceBegins) {
  for (const std::string_view bytes : {
           "\x80"sv,              // a continuation without a lead
           "\xC0\xAF"sv,          // overlong, two bytes
           "\xC1\xBF"sv,          // overlong, two bytes
           "\xE0\x9F\xBF"sv,      // overlong, three bytes
           "\xF0\x8F\xBF\xBF"sv,  // overlong, four bytes
           "\xC3"sv,              // truncated
           "\xE2\x82"sv,          // truncated
           "\xF0\x9F\x98"sv,      // truncated
           "\xE2\x82\x41"sv,      // truncated by a letter
           "\xED\xA0\x80"sv,      // U+D800
           "\xED\xBF\xBF"sv,      // U+DFFF
           "\xF4\x90\x80\x80"sv,  // U+110000
           "\xF5\x80\x80\x80"sv,  // beyond any code point
           "\xFE"sv,
           "\xFF"sv,
       }) {
    expect_refused({{"\"ab" + std::string(bytes) + "\"", {"invalid UTF-8", 3}},
                    {"\"ab" + std::string(bytes), {"invalid UTF-8", 3}}});
  }
}

TEST(Json, TheEdgesOfUtf8AreAccepted) {
  for (const std::string_view bytes :
       {"\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv,
        "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv})
    EXPECT_EQ(string_in("\"" + std::string(bytes) + "\""), bytes);
}

TEST(Json, DepthSixtyFourIsAcceptedAndSixtyFiveRefused) {
  EXPECT_TRUE(is_accepted(repeated("[", 64) + repeated("]", 64)));
  EXPECT_TRUE(is_accepted(repeated("{\"a\":", 64) + "1" + repeated("}", 64)));
  expect_refused({{repeated("[", 65) + repeated("]", 65), {"nested too deep", 64}},
                  {repeated("{\"a\":", 64) + "{}" + repeated("}", 64), {"nested too deep", 320}},
                  {repeated("[", 1'000'000), {"nested too deep", 64}}});
}

TEST(Json, NumbersKeepTheirTextAndTheirExactValue) {
  struct Case {
    std::string_view text;
    Decimal decimal;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"0", {}},
           {"-0", {}},
           {"-0.000e+5", {}},
           {"0e999999999999999999999", {}},
           {"1", {false, "1", 1}},
           {"1.0", {false, "1", 1}},
           {"1e0", {false, "1", 1}},
           {"10e-1", {false, "1", 1}},
           {"0.1E+1", {false, "1", 1}},
           {"-120", {true, "12", 3}},
           {"0.0012", {false, "12", -2}},
           {"9007199254740993", {false, "9007199254740993", 16}},
           {"0.10000000000000000001", {false, "10000000000000000001", 0}},
           {"1e308", {false, "1", 309}},
           {"1e-400", {false, "1", -399}},
       }) {
    EXPECT_EQ(decimal_in(each.text), each.decimal) << each.text;
    EXPECT_EQ(read(each.text)->text, each.text);
  }
}

TEST(Json, LongZerosDoNotChangeAValue) {
  const std::string zeros = repeated("0", 100'000);
  const Decimal one{.negative = false, .digits = "1", .point = 1};
  EXPECT_EQ(decimal_in("1." + zeros), one);
  EXPECT_EQ(decimal_in("1" + zeros + "e-100000"), one);
  EXPECT_EQ(decimal_in("0." + zeros + "1e100001"), one);
  EXPECT_EQ(decimal_in("0." + zeros + "e7"), Decimal{});
  EXPECT_EQ(decimal_in("1e" + zeros), one);
}

TEST(Json, NumbersOutOfRangeAreRefusedAtOnce) {
  for (const std::string& number :
       {std::string("1e400"), std::string("-1e400"), std::string("1e309"), std::string("1e401"),
        std::string("1.7976931348623159e308"), std::string("1e-401"), std::string("123e-10000000"),
        std::string("1e999999999"), std::string("1e-999999999"),
        std::string("1e99999999999999999999999999"), "1" + repeated("0", 1'000'000),
        "0." + repeated("0", 1'000'000) + "1", repeated("9", 309), "2" + repeated("0", 308)})
    expect_refused({{"[" + number + "]", {"number out of range", 1}}});
}

TEST(Json, NumbersUpToTheLargestDoubleAreAccepted) {
  EXPECT_TRUE(is_accepted("1.7976931348623157e308"));
  EXPECT_TRUE(is_accepted("1.7976931348623158e308")) << "rounds to the largest double";
  EXPECT_TRUE(is_accepted("1" + repeated("0", 308)));
  EXPECT_TRUE(is_accepted("5e-324"));
}

TEST(Json, MoreSignificantDigitsThanTheLimitAreRefused) {
  EXPECT_TRUE(is_accepted("0." + repeated("7", number_digits_max)));
  EXPECT_TRUE(is_accepted("0." + repeated("7", number_digits_max) + "000"));
  expect_refused(
      {{"0." + repeated("7", number_digits_max + 1), {"number with too many digits", 0}},
       {"1." + repeated("0", number_digits_max - 1) + "1", {"number with too many digits", 0}}});
}

TEST(JsonPointer, TextAndTokensAgree) {
  struct Case {
    std::string_view text;
    std::vector<std::string> tokens;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"", {}},
           {"/", {""}},
           {"/a/0", {"a", "0"}},
           {"/a~1b/~0/~01", {"a/b", "~", "~1"}},
           {"//", {"", ""}},
           {"/ \"\\", {" \"\\"}},
       }) {
    const auto pointer = parse_pointer(each.text);
    ASSERT_TRUE(pointer) << each.text;
    EXPECT_EQ(pointer->tokens, each.tokens) << each.text;
    EXPECT_EQ(to_text(*pointer), each.text);
  }
}

TEST(JsonPointer, BadTextIsRefused) {
  EXPECT_EQ(parse_pointer("a").error(), (Error{"pointer does not start with '/'", 0}));
  EXPECT_EQ(parse_pointer("/a~2").error(), (Error{"'~' without 0 or 1", 3}));
  EXPECT_EQ(parse_pointer("/a~").error(), (Error{"'~' without 0 or 1", 3}));
}

TEST(JsonPointer, LeadsToAValueOrNowhere) {
  const auto document = read(R"({"a":[10,{"b/c":20}],"":30,"0":40})");
  ASSERT_TRUE(document);
  const auto number_at = [&document](std::string_view text) -> std::string {
    const Value* value = resolve(*document, *parse_pointer(text));
    return value == nullptr ? "nowhere" : value->text;
  };
  EXPECT_EQ(resolve(*document, Pointer{}), &*document);
  EXPECT_EQ(number_at("/a/0"), "10");
  EXPECT_EQ(number_at("/a/1/b~1c"), "20");
  EXPECT_EQ(number_at("/"), "30");
  EXPECT_EQ(number_at("/0"), "40");
  for (const std::string_view text : {"/x", "/a/2", "/a/-", "/a/00", "/a/+1", "/a/ 1", "/a/1x",
                                      "/a/", "/a/0/0", "/a/99999999999999999999999"})
    EXPECT_EQ(number_at(text), "nowhere") << text;
}

}  // namespace
}  // namespace pawl::json
