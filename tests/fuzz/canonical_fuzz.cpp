// Canonical JSON and fingerprints on arbitrary bytes: what means the same has one form, what
// differs has another, and nothing crashes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "pawl/types/fingerprint.hpp"
#include "src/core/canonical.hpp"
#include "src/core/form.hpp"
#include "src/core/multipart.hpp"
#include "tests/fuzz/respelled.hpp"

namespace pawl {
namespace {

using json::Decimal;
using json::Kind;
using json::Numbers;
using json::Value;

std::string canonical_of(std::string_view text, Numbers numbers) {
  const auto value = json::read(text);
  PAWL_CHECK(value.has_value());
  return json::canonical(*value, numbers);
}

void check_number(const Value& number) {
  const Decimal decimal = json::decimal_of(number);
  const std::string exact = json::canonical(number, Numbers::exact);
  // Fifteen digits always survive a double of ordinary size.
  if (decimal.digits.size() <= 15 && decimal.point > -300 && decimal.point < 300)
    PAWL_CHECK(json::canonical(number, Numbers::rfc8785) == exact);
  if (decimal.digits.empty()) return;

  Decimal other = decimal;
  char& last = other.digits.back();
  last = last == '9' ? '8' : static_cast<char>(last + 1);
  const int exponent = other.point - static_cast<int>(other.digits.size());
  const auto changed = json::read(json::integer_text(other) + "e" + std::to_string(exponent));
  if (changed) PAWL_CHECK(json::canonical(*changed) != exact);  // refused: just past a limit
}

void check_numbers(const Value& value) {
  if (value.kind == Kind::number) check_number(value);
  for (const Value& item : value.items) check_numbers(item);
  for (const auto& [name, member] : value.members) check_numbers(member);
}

void check_json(std::string_view bytes) {
  const auto value = json::read(bytes);
  if (!value) {
    PAWL_CHECK(value.error().at_byte <= bytes.size());
    PAWL_CHECK(!value.error().what.empty());
    return;
  }
  const std::string other_spelling = json::respelled(*value);
  for (const Numbers numbers : {Numbers::exact, Numbers::rfc8785}) {
    const std::string form = json::canonical(*value, numbers);
    PAWL_CHECK(canonical_of(form, numbers) == form);
    PAWL_CHECK(canonical_of(other_spelling, numbers) == form);
  }
  check_numbers(*value);
}

void check_form(std::string_view bytes) {
  const std::string form = canonical_form(bytes);
  PAWL_CHECK(canonical_form(form) == form);
  PAWL_CHECK(decode_form(form).size() == decode_form(bytes).size());
  const auto ordered = ordered_form(bytes);
  PAWL_CHECK(!ordered || ordered_form(*ordered) == ordered);
}

// The same parts under another boundary.
void check_multipart(std::string_view bytes) {
  const auto parts = read_multipart("multipart/form-data; boundary=b", bytes);
  if (!parts) return;
  const std::string other = "another-boundary";
  if (bytes.find(other) != bytes.npos) return;
  std::string again;
  for (const Part& part : *parts) {
    again += "--" + other + "\r\n";
    for (const auto& [name, value] : part.fields) {
      again += name + ":\t" + std::string(value) + " \r\n";
    }
    again.append("\r\n").append(part.content).append("\r\n");
  }
  again += "--" + other + "--";
  const auto read = read_multipart("multipart/form-data; boundary=\"" + other + "\"", again);
  PAWL_CHECK(read.has_value());
  PAWL_CHECK(canonical_multipart(*read) == canonical_multipart(*parts));
}

void check_fingerprint(std::string_view bytes, std::string_view content_type,
                       const FingerprintRules& rules) {
  const RequestContent content{
      .method = "POST", .path = "/", .query = {}, .content_type = content_type, .body = bytes};
  const FingerprintSecrets secrets = {{.id = "k", .bytes = "secret"}};
  for (const FingerprintSecrets& known : {FingerprintSecrets{}, secrets}) {
    const auto made = fingerprint(content, rules, known);
    PAWL_CHECK(made || is_json(content_type));
    if (made) PAWL_CHECK(matches(made->fingerprint, content, rules, secrets));
  }
  // Whatever a store may hold.
  PAWL_CHECK(!matches({.text = std::string(bytes)}, content, rules, secrets));
}

void check_pointer(std::string_view bytes) {
  const auto pointer = json::parse_pointer(bytes);
  if (pointer) PAWL_CHECK(json::to_text(*pointer) == bytes);
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const pawl::FingerprintRules all;
  const pawl::FingerprintRules some{
      .include = {{.tokens = {"a"}}, {.tokens = {"0"}}, {.tokens = {"a", "0"}}},
      .exclude = {{.tokens = {"a", "b"}}, {.tokens = {"0", "0"}}, {.tokens = {"1"}}}};
  const pawl::FingerprintRules without{.include = {}, .exclude = some.exclude};
  pawl::check_json(bytes);
  pawl::check_form(bytes);
  pawl::check_multipart(bytes);
  pawl::check_pointer(bytes);
  for (const auto* rules : {&all, &some, &without})
    for (const auto* type : {"application/json", "application/x-www-form-urlencoded", "text/plain",
                             "multipart/form-data; boundary=b"})
      pawl::check_fingerprint(bytes, type, *rules);
  return 0;
}
