#include "pawl/types/key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace pawl {

// Found by GoogleTest, so that a failure prints a sentence and not a number.
static void PrintTo(KeyRefusal refusal, std::ostream* out) { *out << explain(refusal, {}); }

namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// Only the form counts: for tables about syntax.
KeyRules any_length(KeySyntax syntax) {
  return {.syntax = syntax, .length_min = 1, .refuse_pii = false};
}

Expected<Key, KeyRefusal> parse_one(std::string_view line, const KeyRules& rules) {
  const std::array lines{line};
  return parse_key(lines, rules);
}

std::optional<KeyRefusal> refusal_of(std::string_view line, const KeyRules& rules) {
  const auto key = parse_one(line, rules);
  return key ? std::nullopt : std::optional(key.error());
}

std::string text_of(std::string_view line, const KeyRules& rules) {
  const auto key = parse_one(line, rules);
  return key ? key->text : "(refused) " + explain(key.error(), rules);
}

TEST(Key, QuotedAndBareAndWithParametersAreOneKey) {
  const KeyRules rules;
  const std::string key = "8e03978e-40d5-43dd-bc93-6894a57f9324";
  for (const std::string& line : {key, '"' + key + '"', '"' + key + "\";a=1;b=@5;c=%\"%c3%bc\"",
                                  " \t" + key + "\t ", "\t\"" + key + "\" "}) {
    EXPECT_EQ(text_of(line, rules), key) << line;
  }
}

struct Decoded {
  std::string line;
  std::string key;
};

TEST(Key, IsLookedUpDecoded) {
  const std::vector<Decoded> table{
      {R"("a\"b")", R"(a"b)"},
      {R"("a\\b")", R"(a\b)"},
      {R"("\\\"")", R"(\")"},
      {R"("a,b")", "a,b"},
      {R"(" k ")", " k "},
      {"order 1", "order 1"},
      {R"(a\b)", R"(a\b)"},
      {"k;a=1", "k;a=1"},
      {":YWJj:", ":YWJj:"},
      {"@1659578233", "@1659578233"},
      {"?1", "?1"},
      {"!~", "!~"},
      {"'k'", "'k'"},
      {"%22", "%22"},
  };
  for (const Decoded& each : table) {
    EXPECT_EQ(text_of(each.line, any_length(KeySyntax::either)), each.key) << each.line;
  }
}

struct BySyntax {
  std::string line;
  std::optional<KeyRefusal> either, ietf, bare;
};

TEST(Key, EachSyntaxTakesItsForms) {
  constexpr auto taken = std::nullopt;
  constexpr auto malformed = KeyRefusal::malformed;
  constexpr auto wrong = KeyRefusal::wrong_syntax;
  constexpr auto empty = KeyRefusal::empty;
  constexpr auto unprintable = KeyRefusal::unprintable;
  const std::vector<BySyntax> table{
      {"k", taken, wrong, taken},
      {"order 1", taken, wrong, taken},
      {"1.5", taken, wrong, taken},
      {R"("k")", taken, taken, wrong},
      {R"("k";a=1)", taken, taken, wrong},
      {R"("k)", malformed, malformed, wrong},
      {R"(")", malformed, malformed, wrong},
      {R"("k"x)", malformed, malformed, wrong},
      {R"("k" "l")", malformed, malformed, wrong},
      {R"("k", "l")", malformed, malformed, wrong},
      {R"("k";)", malformed, malformed, wrong},
      {R"("k" ;a)", malformed, malformed, wrong},
      {R"("k";A=1)", malformed, malformed, wrong},
      {R"("k\n")", malformed, malformed, wrong},
      {R"("k\")", malformed, malformed, wrong},
      {R"(k")", malformed, wrong, malformed},
      {R"(k"l"m)", malformed, wrong, malformed},
      {"k,l", malformed, wrong, malformed},
      {"k, l", malformed, wrong, malformed},
      {",", malformed, wrong, malformed},
      {R"(k, "l")", malformed, wrong, malformed},
      {R"(%"k")", malformed, wrong, malformed},
      {"", empty, empty, empty},
      {" \t ", empty, empty, empty},
      {R"("")", empty, empty, empty},
      {R"("  ")", empty, empty, empty},
      {R"("";a=1)", empty, empty, empty},
      {"k\tl", unprintable, unprintable, unprintable},
      {"\"k\tl\"", unprintable, unprintable, unprintable},
      {"\"\t\"", unprintable, unprintable, unprintable},
      {"k\rl", unprintable, unprintable, unprintable},
      {"k\nX-Admin: 1", unprintable, unprintable, unprintable},
      {"\0k"s, unprintable, unprintable, unprintable},
      {"k\0"s, unprintable, unprintable, unprintable},
      {"k\x1F", unprintable, unprintable, unprintable},
      {"k\x7F", unprintable, unprintable, unprintable},
      {"k\x80", unprintable, unprintable, unprintable},
      {"k\xFF", unprintable, unprintable, unprintable},
      {"k\u00FC", unprintable, unprintable, unprintable},
      {"\u00A0", unprintable, unprintable, unprintable},
      {"\"k\u00FC\"", unprintable, unprintable, unprintable},
      {"\"k\";a=\"\u00FC\"", unprintable, unprintable, unprintable},
  };
  for (const BySyntax& each : table) {
    SCOPED_TRACE(each.line);
    EXPECT_EQ(refusal_of(each.line, any_length(KeySyntax::either)), each.either);
    EXPECT_EQ(refusal_of(each.line, any_length(KeySyntax::ietf)), each.ietf);
    EXPECT_EQ(refusal_of(each.line, any_length(KeySyntax::bare)), each.bare);
  }
}

TEST(Key, TwoHeaderLinesAreRefusedEvenWhenTheyAgree) {
  const std::array<std::string_view, 2> same{"0123456789abcdef", "0123456789abcdef"};
  const std::array<std::string_view, 2> halves{"\"01234567", "89abcdef\""};
  const std::array<std::string_view, 3> blank{"0123456789abcdef", "", ""};
  EXPECT_EQ(parse_key(same, {}).error(), KeyRefusal::repeated);
  EXPECT_EQ(parse_key(halves, {}).error(), KeyRefusal::repeated);
  EXPECT_EQ(parse_key(blank, {}).error(), KeyRefusal::repeated);
}

TEST(Key, LengthsAreOfTheDecodedKey) {
  const KeyRules rules;
  const auto quoted = [](std::size_t length) { return '"' + std::string(length, 'k') + '"'; };
  const auto escaped = [](std::size_t length) {
    std::string line = "\"";
    for (std::size_t i = 0; i < length; ++i) line += "\\\\";
    return line + "\";padding=\"xxxxxxxxxxxxxxxx\"";
  };
  for (const auto& [length, refusal] :
       std::vector<std::pair<std::size_t, std::optional<KeyRefusal>>>{
           {1, KeyRefusal::too_short},
           {15, KeyRefusal::too_short},
           {16, std::nullopt},
           {255, std::nullopt},
           {256, KeyRefusal::too_long},
           {5000, KeyRefusal::too_long}}) {
    SCOPED_TRACE(length);
    EXPECT_EQ(refusal_of(std::string(length, 'k'), rules), refusal);
    EXPECT_EQ(refusal_of("  " + std::string(length, 'k') + "  ", rules), refusal);
    EXPECT_EQ(refusal_of(quoted(length), rules), refusal);
    EXPECT_EQ(refusal_of(escaped(length), rules), refusal);
  }
}

TEST(Key, WhatLooksLikeAnEmailAddressIsRefused) {
  const KeyRules rules{.length_min = 1};
  for (const std::string_view line :
       {"bob@example.com", "pay-bob@example.com-1", "\"bob@example.com\"", "BOB@EXAMPLE.COM",
        "a@b.cd", "order bob.smith+shop@mail.example.co.uk 17", "x@@y@z.io", "a@b.c.de",
        "bob@x--y.museum", "bob@example.com1", "mailto:bob@example.com", "a@b@c.org"}) {
    EXPECT_EQ(refusal_of(line, rules), KeyRefusal::email) << line;
  }
  for (const std::string_view line :
       {"bob@example", "a@b.c", "a@b.c1", "@example.com", "bob@", "@", "a@.com", "a@b..com",
        "bob @example.com", "bob@ example.com", "order@2024-01-01T10:00", "a@10.0.0.1", "a@b.",
        "bob.example.com", "a@b.1om"}) {
    EXPECT_EQ(refusal_of(line, rules), std::nullopt) << line;
  }
}

TEST(Key, WhatLooksLikeACardNumberIsRefused) {
  const KeyRules rules{.length_min = 1};
  for (const std::string_view line :
       {"4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "\"4111111111111111\"",
        "\" 4111 1111 1111 1111 \"", "378282246310005", "4222222222222", "6304000000000000000"}) {
    EXPECT_EQ(refusal_of(line, rules), KeyRefusal::card_number) << line;
  }
  for (const std::string_view line :
       {"4111111111111112", "411111111111", "x4111111111111111", "4111.1111.1111.1111",
        "order-4111111111111111", "00000000000000000000", "000000000000", "-- --",
        "8e03978e-40d5-43dd-bc93-6894a57f9324"}) {
    EXPECT_EQ(refusal_of(line, rules), std::nullopt) << line;
  }
}

TEST(Key, PersonalDataIsTakenWhereTheRulesSaySo) {
  const KeyRules rules{.refuse_pii = false};
  EXPECT_EQ(text_of("4111 1111 1111 1111", rules), "4111 1111 1111 1111");
  EXPECT_EQ(text_of("pay-bob@example.com", rules), "pay-bob@example.com");
}

TEST(Key, TheMostHelpfulOfSeveralRefusalsIsGiven) {
  const std::array<std::string_view, 2> bad_lines{"", "\x01"};
  EXPECT_EQ(parse_key(bad_lines, {}).error(), KeyRefusal::repeated);
  EXPECT_EQ(refusal_of("k,\x01\"", {}), KeyRefusal::unprintable);
  EXPECT_EQ(refusal_of("k,l", {}), KeyRefusal::malformed);
  EXPECT_EQ(refusal_of(std::string(300, ','), {}), KeyRefusal::malformed);
  EXPECT_EQ(refusal_of("bob@example.com" + std::string(300, 'x'), {}), KeyRefusal::too_long);
  EXPECT_EQ(refusal_of("4222222222222", {}), KeyRefusal::card_number);
  EXPECT_EQ(refusal_of("a@b.cd", {}), KeyRefusal::email);
  EXPECT_EQ(refusal_of("a-b-cd", {}), KeyRefusal::too_short);
}

TEST(Key, EveryRefusalIsExplainedInOneSentenceWithItsNumbers) {
  for (const KeySyntax syntax : {KeySyntax::either, KeySyntax::ietf, KeySyntax::bare}) {
    const KeyRules rules{.syntax = syntax, .length_min = 24};
    for (const KeyRefusal refusal :
         {KeyRefusal::repeated, KeyRefusal::empty, KeyRefusal::too_long, KeyRefusal::too_short,
          KeyRefusal::unprintable, KeyRefusal::malformed, KeyRefusal::wrong_syntax,
          KeyRefusal::email, KeyRefusal::card_number}) {
      const std::string text = explain(refusal, rules);
      EXPECT_THAT(text, HasSubstr("Idempotency-Key"));
      EXPECT_EQ(text.find('.'), text.size() - 1) << text;
    }
    EXPECT_THAT(explain(KeyRefusal::too_short, rules), HasSubstr("at least 24 "));
    EXPECT_THAT(explain(KeyRefusal::too_long, rules), HasSubstr("at most 255 "));
    EXPECT_THAT(explain(KeyRefusal::card_number, rules), HasSubstr("13 to 19 digits"));
  }
  EXPECT_NE(explain(KeyRefusal::wrong_syntax, {.syntax = KeySyntax::ietf}),
            explain(KeyRefusal::wrong_syntax, {.syntax = KeySyntax::bare}));
  EXPECT_THAT(explain(KeyRefusal::malformed, {.syntax = KeySyntax::bare}), Not(HasSubstr("9651")));
}

TEST(Key, LogNameIsAShortHashOfScopeAndKey) {
  const std::string name = log_name({"shop"}, {"0123456789abcdef"});
  // printf 'shop\0000123456789abcdef' | sha256sum | cut -c1-12
  EXPECT_EQ(name, "3a335ed88eae");
  EXPECT_NE(name, log_name({"shop"}, {"0123456789abcdeg"}));
  EXPECT_NE(log_name({"ab"}, {"c"}), log_name({"a"}, {"bc"}));
}

TEST(TimeInKey, IsToldByUuidsOfVersionSevenAlone) {
  const Key made{"019a8d2c-5800-7abc-8def-0123456789ab"};
  EXPECT_EQ(time_in(made), Instant(std::chrono::milliseconds(0x019a8d2c5800)));
  EXPECT_EQ(time_in(Key{"019A8D2C-5800-7ABC-8DEF-0123456789AB"}), time_in(made));
  for (const char* other :
       {"019a8d2c-5800-4abc-8def-0123456789ab", "019a8d2c-5800-7abc-cdef-0123456789ab",
        "019a8d2c-5800-7abc-8def-0123456789a", "019a8d2c-5800-7abc-8def-0123456789ag",
        "019a8d2c 5800-7abc-8def-0123456789ab", "order-4711-0000000000"}) {
    EXPECT_FALSE(time_in(Key{other})) << other;
  }
}

}  // namespace
}  // namespace pawl
