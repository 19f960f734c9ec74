// Every case of the structured-field vectors, whatever files and cases the folder holds: the
// acceptance runs bring others. A case this test does not know how to run fails it.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "pawl/types/json.hpp"
#include "pawl/types/key.hpp"
#include "src/core/structured_field.hpp"
#include "tests/vectors/vectors.hpp"

namespace pawl {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;  // with its file
  bool is_list = false;
  bool must_fail = false;
  bool has_raw = false;  // else for the serializer only
  std::vector<std::string> raw;
  json::Value expected;                // null where there is none
  std::vector<std::string> canonical;  // as given, else `raw`
};

std::vector<std::string> texts(const json::Value* array) {
  std::vector<std::string> all;
  if (array == nullptr) return all;
  for (const json::Value& each : array->items) all.push_back(each.text);
  return all;
}

bool flag(const json::Value& from, std::string_view name) {
  const json::Value* value = from.find(name);
  return value != nullptr && value->boolean;
}

Case to_case(const json::Value& from, const std::string& file) {
  Case result{.name = file + ": " + from.find("name")->text,
              .must_fail = flag(from, "must_fail"),
              .has_raw = from.find("raw") != nullptr,
              .raw = texts(from.find("raw")),
              .expected = {},
              .canonical = {}};
  const std::string type = from.find("header_type")->text;
  EXPECT_TRUE(type == "item" || type == "list") << result.name << ": not run, is a " << type;
  result.is_list = type == "list";
  if (const json::Value* expected = from.find("expected")) result.expected = *expected;
  const json::Value* canonical = from.find("canonical");
  result.canonical = canonical != nullptr ? texts(canonical) : result.raw;
  return result;
}

std::vector<Case> read_cases(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const fs::path& file : files) {
    const auto document = json::read(vectors::read_bytes(file));
    if (!document) {
      ADD_FAILURE() << file << ": not run, " << document.error().what << " at byte "
                    << document.error().at_byte;
      continue;
    }
    EXPECT_FALSE(document->items.empty()) << file;
    for (const json::Value& each : document->items) {
      cases.push_back(to_case(each, fs::relative(file, folder).string()));
    }
  }
  return cases;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += (&line == lines.data() ? "" : ", ") + line;
  return all;
}

std::string decode_base32(std::string_view text) {
  std::string bytes;
  unsigned bits = 0;
  unsigned bit_count = 0;
  for (const char c : text.substr(0, std::min(text.find('='), text.size()))) {
    bits = (bits << 5U | static_cast<unsigned>(c >= 'A' ? c - 'A' : c - '2' + 26)) & 0xFFFFU;
    bit_count += 5;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes.push_back(static_cast<char>(bits >> bit_count & 0xFFU));
  }
  return bytes;
}

std::int64_t to_integer(const json::Value& number) {
  std::int64_t result = 0;
  const char* end = number.text.data() + number.text.size();
  EXPECT_EQ(std::from_chars(number.text.data(), end, result).ptr, end) << number.text;
  return result;
}

// Thousandths, half to even. Our Decimal has no fourth digit to round, so the three rounding cases
// are rounded here: they only show that the rounded number is written right.
sf::Decimal to_decimal(const json::Value& number) {
  const json::Decimal exact = json::decimal_of(number);
  const int whole = exact.point + 3;
  std::int64_t size = 0;
  for (int i = 0; i < whole; ++i) {
    const auto at = static_cast<std::size_t>(i);
    size = size * 10 + (at < exact.digits.size() ? exact.digits[at] - '0' : 0);
  }
  const auto dropped = static_cast<std::size_t>(std::max(whole, 0));
  if (whole >= 0 && dropped < exact.digits.size()) {
    const std::string_view rest = std::string_view(exact.digits).substr(dropped);
    if (rest > "5" || (rest == "5" && size % 2 == 1)) ++size;
  }
  return {exact.negative ? -size : size};
}

sf::BareItem to_bare_item(const json::Value& value) {
  if (value.kind == json::Kind::boolean) return value.boolean;
  if (value.kind == json::Kind::string) return value.text;
  if (value.kind == json::Kind::number) {
    if (value.text.find('.') == std::string::npos) return to_integer(value);
    return to_decimal(value);
  }
  const json::Value* type = value.find("__type");
  const json::Value* content = value.find("value");
  if (type != nullptr && content != nullptr) {
    if (type->text == "token") return sf::Token{content->text};
    if (type->text == "binary") return sf::Binary{decode_base32(content->text)};
    if (type->text == "date") return sf::Date{to_integer(*content)};
    if (type->text == "displaystring") return sf::DisplayString{content->text};
  }
  ADD_FAILURE() << "a bare item of unknown type";
  return false;
}

sf::Item to_item(const json::Value& pair) {
  sf::Item item{to_bare_item(pair.items.at(0)), {}};
  for (const json::Value& each : pair.items.at(1).items) {
    item.parameters.emplace_back(each.items.at(0).text, to_bare_item(each.items.at(1)));
  }
  return item;
}

// A comma between list members, that is outside quotes.
bool has_comma(std::string_view value) {
  bool quoted = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (quoted && value[i] == '\\')
      ++i;
    else if (value[i] == '"')
      quoted = !quoted;
    else if (value[i] == ',' && !quoted)
      return true;
  }
  return false;
}

// Whether the value is one Item, for a list: one member, and that no inner list.
bool is_one_item(const Case& each) {
  if (!each.is_list) return true;
  return !has_comma(joined(each.raw)) && each.expected.items.size() == 1 &&
         each.expected.items[0].items.at(0).kind != json::Kind::array;
}

const json::Value& item_of(const Case& each) {
  return each.is_list ? each.expected.items.at(0) : each.expected;
}

class StructuredFieldVectors : public testing::Test {
 protected:
  void SetUp() override {
    const auto root = vectors::folder();
    if (!root) GTEST_SKIP() << vectors::absent;
    cases_ = read_cases(*root / "structured-fields");
    ASSERT_FALSE(cases_.empty());
  }

  std::vector<Case> cases_;
};

TEST_F(StructuredFieldVectors, ItemsParseAsExpectedAndSerializeCanonically) {
  int accepted = 0, refused = 0, lists_refused = 0, serialize_only = 0;
  for (const Case& each : cases_) {
    SCOPED_TRACE(each.name);
    if (!each.has_raw) {
      ++serialize_only;  // the next test's
      continue;
    }
    const auto item = sf::parse_item(joined(each.raw));
    if (each.must_fail || !is_one_item(each)) {
      EXPECT_FALSE(item);
      ++(each.must_fail ? refused : lists_refused);
      continue;
    }
    // `can_fail` or not: of what the RFC leaves open in these cases, we accept all.
    ASSERT_TRUE(item) << item.error().what << " at byte " << item.error().at_byte;
    EXPECT_EQ(*item, to_item(item_of(each)));
    const auto text = sf::serialize(*item);
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(*text, joined(each.canonical));
    ++accepted;
  }
  RecordProperty("accepted", accepted);
  RecordProperty("refused", refused);
  RecordProperty("valid_lists_refused_as_items", lists_refused);
  EXPECT_EQ(accepted + refused + lists_refused + serialize_only, std::ssize(cases_));
}

TEST_F(StructuredFieldVectors, SerializerWritesOrRefusesAsExpected) {
  int written = 0, refused = 0;
  for (const Case& each : cases_) {
    if (each.has_raw) continue;
    SCOPED_TRACE(each.name);
    ASSERT_FALSE(each.is_list) << "not run";
    const auto text = sf::serialize(to_item(each.expected));
    ++(each.must_fail ? refused : written);
    if (each.must_fail) {
      EXPECT_FALSE(text);
    } else {
      ASSERT_TRUE(text) << text.error().what;
      EXPECT_EQ(*text, joined(each.canonical));
    }
  }
  RecordProperty("written", written);
  RecordProperty("refused", refused);
  EXPECT_GT(written + refused, 0);
}

TEST_F(StructuredFieldVectors, OnlyStringsAreKeysUnderTheIetfSyntax) {
  const KeyRules rules{.syntax = KeySyntax::ietf, .length_min = 1, .refuse_pii = false};
  int taken = 0, other_types = 0, refused = 0;
  for (const Case& each : cases_) {
    if (!each.has_raw) continue;
    SCOPED_TRACE(each.name);
    const std::vector<std::string_view> lines(each.raw.begin(), each.raw.end());
    const auto key = parse_key(lines, rules);
    // Two lines are never one key, even where together they make a String.
    if (each.must_fail || each.raw.size() > 1 || !is_one_item(each)) {
      EXPECT_FALSE(key);
      ++refused;
      continue;
    }
    const sf::BareItem value = to_item(item_of(each)).value;
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      ASSERT_FALSE(key);
      EXPECT_EQ(key.error(), KeyRefusal::wrong_syntax);
      ++other_types;
    } else if (text->find_first_not_of(' ') == std::string::npos || text->size() > key_bytes_max) {
      ASSERT_FALSE(key);
      EXPECT_EQ(key.error(),
                text->size() > key_bytes_max ? KeyRefusal::too_long : KeyRefusal::empty);
      ++refused;
    } else {
      ASSERT_TRUE(key);
      EXPECT_EQ(key->text, *text);
      ++taken;
    }
  }
  RecordProperty("keys", taken);
  RecordProperty("items_of_other_types_refused", other_types);
  RecordProperty("others_refused", refused);
  EXPECT_GT(taken, 0);
  EXPECT_GT(other_types, 0);
}

}  // namespace
}  // namespace pawl
