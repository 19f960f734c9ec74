// The JSON reader against nst/JSONTestSuite, and what I-JSON refuses beyond it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pawl/types/json.hpp"
#include "src/core/canonical.hpp"
#include "tests/vectors/vectors.hpp"

namespace pawl::json {
namespace {

namespace fs = std::filesystem;

// Well-formed by RFC 8259, but two readers could understand them differently.
const std::set<std::string, std::less<>> refused_though_wellformed = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
};

// The files about which RFC 8259 says nothing. Integers too big for a double are accepted and kept
// exactly (their canonical form is here); everything else is refused, for the reason given.
struct Expectation {
  std::string_view canonical;
  std::string_view refusal;
};
const std::map<std::string, Expectation, std::less<>> undefined_by_rfc8259 = {
    {"i_number_too_big_neg_int.json", {"[-1.23123123123123123123123123123e+29]", ""}},
    {"i_number_too_big_pos_int.json", {"[100000000000000000000]", ""}},
    {"i_number_very_big_negative_int.json",
     {"[-2.37462374673276894279832749832423479823246327846e+47]", ""}},
    {"i_number_huge_exp.json", {"", "number out of range"}},
    {"i_number_neg_int_huge_exp.json", {"", "number out of range"}},
    {"i_number_pos_double_huge_exp.json", {"", "number out of range"}},
    {"i_number_real_neg_overflow.json", {"", "number out of range"}},
    {"i_number_real_underflow.json", {"", "number out of range"}},
    {"i_object_key_lone_2nd_surrogate.json", {"", "lone surrogate"}},
    {"i_string_1st_surrogate_but_2nd_missing.json", {"", "lone surrogate"}},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", {"", "lone surrogate"}},
    {"i_string_incomplete_surrogate_and_escape_valid.json", {"", "lone surrogate"}},
    {"i_string_incomplete_surrogate_pair.json", {"", "lone surrogate"}},
    {"i_string_incomplete_surrogates_escape_valid.json", {"", "lone surrogate"}},
    {"i_string_invalid_lonely_surrogate.json", {"", "lone surrogate"}},
    {"i_string_invalid_surrogate.json", {"", "lone surrogate"}},
    {"i_string_inverted_surrogates_U+1D11E.json", {"", "lone surrogate"}},
    {"i_string_lone_second_surrogate.json", {"", "lone surrogate"}},
    {"i_string_UTF8_surrogate_U+D800.json", {"", "invalid UTF-8"}},
    {"i_string_iso_latin_1.json", {"", "invalid UTF-8"}},
    {"i_string_not_in_unicode_range.json", {"", "invalid UTF-8"}},
    {"i_string_overlong_sequence_2_bytes.json", {"", "invalid UTF-8"}},
    {"i_string_truncated-utf-8.json", {"", "invalid UTF-8"}},
    {"i_string_UTF-16LE_with_BOM.json", {"", "unexpected character"}},
    {"i_string_utf16BE_no_BOM.json", {"", "unexpected character"}},
    {"i_structure_UTF-8_BOM_empty_object.json", {"", "byte order mark"}},
};

using Check = std::function<void(const std::string& name, const Expected<Value, Error>& value)>;

// Reads every file whose name starts with `prefix`, in order; returns how many there were.
int for_each_file(const fs::path& folder, std::string_view prefix, const Check& check) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / "json-parsing" / "test_parsing"))
    if (entry.path().filename().string().starts_with(prefix)) files.insert(entry.path());
  for (const fs::path& file : files)
    check(file.filename().string(), read(vectors::read_bytes(file)));
  return static_cast<int>(files.size());
}

TEST(JsonVectors, WhatMustBeAcceptedIsAcceptedUnlessNamesRepeat) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  const int files = for_each_file(*folder, "y_", [](const auto& name, const auto& value) {
    if (refused_though_wellformed.contains(name)) {
      ASSERT_FALSE(value) << name;
      EXPECT_EQ(value.error().what, "duplicate name") << name;
      return;
    }
    ASSERT_TRUE(value) << name << ": " << value.error().what;
    for (const Numbers numbers : {Numbers::exact, Numbers::rfc8785}) {
      const auto again = read(canonical(*value, numbers));
      ASSERT_TRUE(again) << name;
      EXPECT_EQ(canonical(*again, numbers), canonical(*value, numbers)) << name;
    }
  });
  EXPECT_GE(files, 71);
  RecordProperty("files", files);
}

TEST(JsonVectors, WhatMustBeRefusedIsRefused) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  const int files = for_each_file(
      *folder, "n_", [](const auto& name, const auto& value) { EXPECT_FALSE(value) << name; });
  EXPECT_GE(files, 141);
  RecordProperty("files", files);
}

TEST(JsonVectors, WhatIsLeftOpenIsDecided) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  const int files = for_each_file(*folder, "i_", [](const auto& name, const auto& value) {
    const auto expectation = undefined_by_rfc8259.find(name);
    if (expectation == undefined_by_rfc8259.end()) {
      EXPECT_FALSE(value) << name << " is not in the table, and what is not known is refused";
    } else if (expectation->second.refusal.empty()) {
      ASSERT_TRUE(value) << name << ": " << value.error().what;
      EXPECT_EQ(canonical(*value), expectation->second.canonical) << name;
    } else {
      ASSERT_FALSE(value) << name;
      EXPECT_EQ(value.error().what, expectation->second.refusal) << name;
    }
  });
  EXPECT_GE(files, 26);
  RecordProperty("files", files);
}

}  // namespace
}  // namespace pawl::json
