// A line and a body of any bytes as a webhook: nobody without the secret is believed, what is
// signed is, and an event that is read names what it is about.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/core/sha256.hpp"
#include "src/reconcile/event.hpp"
#include "src/reconcile/signature.hpp"

namespace pawl::reconcile {
namespace {

const Instant now{std::chrono::seconds(1'700'000'000)};

void check_header(std::string_view header, std::string_view body) {
  const std::vector<std::string> secrets{"0123456789abcdef"};
  const Headers told{{"Stripe-Signature", std::string(header)}};
  // A fuzzer cannot make a MAC: whatever it writes is refused.
  PAWL_CHECK(check_signature({}, secrets, told, body, now));
  const std::string mac = hex(hmac_sha256(secrets[0], "1700000000." + std::string(body)));
  const Headers good{{"Stripe-Signature", "t=1700000000,v1=" + mac}};
  PAWL_CHECK(!check_signature({}, secrets, good, body, now));
  PAWL_CHECK(check_signature({}, secrets, good, std::string(body) + "x", now));
}

void check_event(std::string_view body) {
  EventRules rules;
  rules.id = *json::parse_pointer("/id");
  rules.key = *json::parse_pointer("/key");
  rules.scope = *json::parse_pointer("/scope");
  EventRule rule;
  rule.where = {{*json::parse_pointer("/type"), {}}};
  rule.then = EventThen::completed;
  rule.reply.body = *parse_template("{}{/data}", true);
  rules.rules = {rule};
  const auto read = read_event(rules, body);
  if (!read || !*read) return;
  PAWL_CHECK(!(*read)->id.empty() && (*read)->subject.size() == 64);
  PAWL_CHECK((*read)->response.body->starts_with("{}"));
  // What was taken from it is JSON again, and says the same.
  const std::string_view made = std::string_view(*(*read)->response.body).substr(2);
  const auto again = json::read(made);
  PAWL_CHECK(again.has_value());
  PAWL_CHECK(to_json(*again) == made);
}

}  // namespace
}  // namespace pawl::reconcile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  const std::size_t end = bytes.find('\n');
  const std::string header = bytes.substr(0, end);
  const std::string body = end == std::string::npos ? "" : bytes.substr(end + 1);
  pawl::reconcile::check_header(header, body);
  pawl::reconcile::check_event(body);
  return 0;
}
