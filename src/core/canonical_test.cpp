#include "src/core/canonical.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace pawl::json {
namespace {

using namespace std::string_view_literals;

std::string canonical_of(std::string_view text, Numbers numbers = Numbers::exact) {
  const auto value = read(text);
  return value ? canonical(*value, numbers) : "refused: " + value.error().what;
}

struct Pair {
  std::string_view text;
  std::string_view canonical;
};

TEST(Canonical, BlanksGoAndMembersAreSortedAtEveryLevel) {
  EXPECT_EQ(canonical_of(R"( { "b" : [ 3, {"z":1, "a":null} ] , "a" : { } , "" : [ ] } )"),
            R"({"":[],"a":{},"b":[3,{"a":null,"z":1}]})");
  EXPECT_EQ(canonical_of("[true , false,\tnull,\n\"x\"]"), R"([true,false,null,"x"])");
}

TEST(Canonical, APrefixSortsFirstAndCaseCounts) {
  EXPECT_EQ(canonical_of(R"({"aa":1,"a":2,"B":3,"a\u0000":4,"10":5,"9":6})"),
            R"({"10":5,"9":6,"B":3,"a":2,"a\u0000":4,"aa":1})");
}

TEST(Canonical, MembersAreSortedByUtf16CodeUnitsNotByCodePoints) {
  // U+D7FF, U+1F602 (D83D DE02), U+10FFFF (DBFF DFFF), U+E000, U+FB33, U+FFFF: this is the order.
  const std::string_view sorted =
      "{\"\xED\x9F\xBF\":1,\"\xF0\x9F\x98\x82\":2,\"\xF0\x9F\x98\x83\":3,\"\xF4\x8F\xBF\xBF\":4,"
      "\"\xEE\x80\x80\":5,\"\xEF\xAC\xB3\":6,\"\xEF\xBF\xBF\":7}";
  EXPECT_EQ(canonical_of("{\"\\uffff\":7,\"\\ufb33\":6,\"\\ue000\":5,\"\\udbff\\udfff\":4,"
                         "\"\\ud83d\\ude03\":3,\"\\ud83d\\ude02\":2,\"\\ud7ff\":1}"),
            sorted);
  EXPECT_EQ(canonical_of(sorted), sorted);
}

TEST(Canonical, OnlyWhatMustBeEscapedIs) {
  EXPECT_EQ(quote("\"\\\b\t\n\f\r"), R"("\"\\\b\t\n\f\r")");
  EXPECT_EQ(quote("\0\x01\x0B\x1F"sv), R"("\u0000\u0001\u000b\u001f")");
  EXPECT_EQ(quote("/\x7F\xE2\x80\xA8"), "\"/\x7F\xE2\x80\xA8\"");
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(canonical_of(R"("\/\u00e9\u0041\u001F")"),
            "\"/\xC3\xA9"
            "A\\u001f\"");
}

TEST(Canonical, StringsAreNotNormalised) {
  EXPECT_NE(canonical_of(R"("\u00e9")"), canonical_of(R"("e\u0301")"));
}

TEST(CanonicalNumbers, SpellingsOfOneValueAgree) {
  for (const std::string_view text : {"1", "1.0", "1e0", "10e-1", "0.1E1", "100E-2", "1.000"}) {
    EXPECT_EQ(canonical_of(text), "1") << text;
    EXPECT_EQ(canonical_of(text, Numbers::rfc8785), "1") << text;
  }
  for (const std::string_view text : {"0", "-0", "-0.0", "0e5", "-0e-99999999999"}) {
    EXPECT_EQ(canonical_of(text), "0") << text;
    EXPECT_EQ(canonical_of(text, Numbers::rfc8785), "0") << text;
  }
}

TEST(CanonicalNumbers, ValuesThatOnlyADoubleConfusesStayApart) {
  for (const auto& [a, b] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"9007199254740993", "9007199254740992"},
           {"0.1", "0.10000000000000000001"},
           {"1e-400", "0"},
           {"1.7976931348623157e308", "1.7976931348623158e308"},
           {"100000000000000000000001", "100000000000000000000002"},
       }) {
    EXPECT_NE(canonical_of(a), canonical_of(b));
    EXPECT_EQ(canonical_of(a, Numbers::rfc8785), canonical_of(b, Numbers::rfc8785));
  }
}

TEST(CanonicalNumbers, ExactDigitsAreLaidOutAsRfc8785Would) {
  for (const Pair& each : std::initializer_list<Pair>{
           // k <= n <= 21: digits, then zeros
           {"12e1", "120"},
           {"1e20", "100000000000000000000"},
           {"123456789012345678901", "123456789012345678901"},
           // 0 < n <= 21: the point inside
           {"-1.50", "-1.5"},
           {"123456789012345678901.25", "123456789012345678901.25"},
           // -6 < n <= 0: zeros first
           {"0.10", "0.1"},
           {"1e-6", "0.000001"},
           {"1.230e-5", "0.0000123"},
           {"-0.000001234567890123456789", "-0.000001234567890123456789"},
           // else an exponent
           {"1e21", "1e+21"},
           {"1234567890123456789012", "1.234567890123456789012e+21"},
           {"1e-7", "1e-7"},
           {"-0.00000012", "-1.2e-7"},
           {"1E0300", "1e+300"},
           {"1234567890123456789012.5", "1.2345678901234567890125e+21"},
       })
    EXPECT_EQ(canonical_of(each.text), each.canonical) << each.text;
}

TEST(CanonicalNumbers, BothLayoutsAgreeWhereADoubleHoldsTheDigits) {
  for (int exponent = -300; exponent <= 300; ++exponent) {
    for (const std::string_view digits : {"1", "12", "-123456789012345", "5.0", "0.25"}) {
      const std::string text = std::string(digits) + "e" + std::to_string(exponent);
      EXPECT_EQ(canonical_of(text), canonical_of(text, Numbers::rfc8785)) << text;
    }
  }
}

TEST(CanonicalNumbers, DoublesAreWrittenAsEcmascriptWritesThem) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(ecmascript_number(0.0), "0");
  EXPECT_EQ(ecmascript_number(-0.0), "0");
  EXPECT_EQ(ecmascript_number(1e21), "1e+21");
  EXPECT_EQ(ecmascript_number(999999999999999900000.0), "999999999999999900000");
  EXPECT_EQ(ecmascript_number(1e-6), "0.000001");
  EXPECT_EQ(ecmascript_number(1e-7), "1e-7");
  EXPECT_EQ(ecmascript_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(ecmascript_number(-1.5), "-1.5");
  EXPECT_EQ(ecmascript_number(Limits::max()), "1.7976931348623157e+308");
  EXPECT_EQ(ecmascript_number(Limits::denorm_min()), "5e-324");
  EXPECT_EQ(ecmascript_number(2e-44 / 2), "1e-44");
}

TEST(CanonicalNumbers, WhatADoubleCannotHoldBecomesItsNearestUnderRfc8785) {
  EXPECT_EQ(canonical_of("9007199254740993", Numbers::rfc8785), "9007199254740992");
  EXPECT_EQ(canonical_of("333333333.33333329", Numbers::rfc8785), "333333333.3333333");
  EXPECT_EQ(canonical_of("1e-400", Numbers::rfc8785), "0");
  EXPECT_EQ(canonical_of("-1e-400", Numbers::rfc8785), "0");
}

}  // namespace
}  // namespace pawl::json
