// Any bytes as the body of a call of the key API: what is accepted says one thing however it is
// spelt, keeps every limit, and holds nothing that is not known; and an answer that was handed in
// comes out of the key's document as it went in.
//
// Input: a character for the verb, then the body; or "S", a header's value, a line feed and the
// body of an answer that some upstream gave.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "pawl/types/fingerprint.hpp"
#include "src/boundary/key_calls.hpp"
#include "src/core/canonical.hpp"
#include "src/core/documents.hpp"
#include "src/core/field_syntax.hpp"
#include "tests/fuzz/respelled.hpp"

namespace pawl {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t message_bytes_max = 512;
constexpr std::string_view owner_and_fence = R"("owner":"consumer-token-0001","fence":7)";

bool is_printable(std::string_view text, std::size_t size_min) {
  return text.size() >= size_min && text.size() <= 255 &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// However long the body is that it is about, a message is one sentence that can be sent as JSON.
void check_refusal(const std::string& message) {
  PAWL_CHECK(message.size() <= message_bytes_max);
  PAWL_CHECK(message.ends_with('.') || message.ends_with('?'));
  PAWL_CHECK(json::read(json::quote(message)).has_value());
}

void check_limits(KeyVerb verb, const KeyCall& call) {
  PAWL_CHECK(call.owner.text.size() >= 16 && call.owner.text.size() <= 128);
  PAWL_CHECK(is_printable(call.owner.text, 1) && call.owner.text.find(' ') == std::string::npos);
  PAWL_CHECK((call.fence.number >= 1) == (verb != KeyVerb::reserve));
  PAWL_CHECK(is_printable(call.reason, 0) && is_printable(call.after, 0));
  PAWL_CHECK(is_printable(call.recovery_point, verb == KeyVerb::advance ? 1 : 0));
  if (verb != KeyVerb::complete) return;
  PAWL_CHECK(call.response.status >= 200 && call.response.status <= 599);
  PAWL_CHECK(call.response.headers.size() <= 201);  // one more: the type of body_json
  for (const Header& header : call.response.headers) {
    PAWL_CHECK(is_token(header.name) && is_field_value(header.value));
  }
}

Fingerprint meaning_of(const KeyCall& call) {
  const RequestContent content{.method = "RESERVE",
                               .path = {},
                               .query = {},
                               .content_type = call.meaning_type,
                               .body = call.meaning};
  const auto made = fingerprint(content, {}, {});
  PAWL_CHECK(made.has_value());
  return made->fingerprint;
}

// A document in an answer may keep its order: then what it says counts.
bool same_answer(const Response& one, const Response& other, bool is_document) {
  if (one.status != other.status || one.headers != other.headers) return false;
  if (!is_document) return one.body == other.body;
  const auto a = json::read(one.body);
  const auto b = json::read(other.body);
  return a && b && json::canonical(*a) == json::canonical(*b);
}

void check_same(KeyVerb verb, const KeyCall& one, const KeyCall& other, bool is_document) {
  PAWL_CHECK(one.owner == other.owner && one.fence == other.fence && one.after == other.after);
  PAWL_CHECK(one.recovery_point == other.recovery_point && one.reason == other.reason);
  PAWL_CHECK(same_answer(one.response, other.response, is_document));
  if (verb == KeyVerb::reserve) PAWL_CHECK(meaning_of(one) == meaning_of(other));
}

// A fence and a status are written as whole numbers; what an operation means in any way.
std::string respelt(KeyVerb verb, const Value& document) {
  return json::respelled(document, verb == KeyVerb::reserve ? json::SpellNumbers::anew
                                                            : json::SpellNumbers::as_they_are);
}

// What was said is what is in the call, and nothing else was.
void check_said(KeyVerb verb, const KeyCall& call, const Value& document) {
  PAWL_CHECK(document.find("owner")->text == call.owner.text);
  if (const Value* request = document.find("request")) {
    const auto meaning = json::read(call.meaning);
    PAWL_CHECK(verb == KeyVerb::reserve && meaning);
    PAWL_CHECK(json::canonical(*meaning) == json::canonical(*request));
  }
  if (const Value* fence = document.find("fence")) {
    PAWL_CHECK(json::canonical(*fence) == std::to_string(call.fence.number));
  }
  const Value* const response = document.find("response");
  const Value* const body = response == nullptr ? nullptr : response->find("body");
  if (body != nullptr) PAWL_CHECK(body->text == call.response.body);
  Value more = document;
  more.members.push_back({"Owner", Value{}});
  if (document.find("Owner") == nullptr) PAWL_CHECK(!read_key_call(verb, respelt(verb, more)));
}

KeyCall handed_in(const std::string& answer) {
  const auto call = read_key_call(
      KeyVerb::complete, "{" + std::string(owner_and_fence) + ",\"response\":" + answer + "}");
  PAWL_CHECK(call.has_value());
  return *call;
}

void check_document(const Response& response) {
  const StoredResponse stored{response.status, response.headers, response.body};
  PAWL_CHECK(handed_in(stored_response(stored)).response == response);
}

void check_call(KeyVerb verb, const std::string& body) {
  const auto call = read_key_call(verb, body);
  if (!call) return check_refusal(call.error());
  check_limits(verb, *call);
  const auto document = json::read(body);
  PAWL_CHECK(document && document->kind == Kind::object);
  check_said(verb, *call, *document);
  const Value* const response = document->find("response");
  const bool is_document = response != nullptr && response->find("body_json") != nullptr;
  const auto again = read_key_call(verb, respelt(verb, *document));
  PAWL_CHECK(again.has_value());
  check_same(verb, *call, *again, is_document);
  const bool fits = call->response.headers.size() <= 200;  // with the type of body_json
  if (verb == KeyVerb::complete && fits) check_document(call->response);
}

// An upstream's header may have bytes that are no UTF-8.
void check_stored(const std::string& value, const std::string& body) {
  if (!is_field_value(value)) return;
  const StoredResponse stored{201, {{"X-Note", value}}, body};
  const KeyCall call = handed_in(stored_response(stored));
  PAWL_CHECK(call.response.body == body && call.response.status == 201);
  PAWL_CHECK(call.response.headers.size() == 1);
  const bool is_text = json::read(json::quote(value)).has_value();
  PAWL_CHECK((call.response.headers.front().value == value) == is_text);
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pawl::KeyVerb;
  if (size == 0) return 0;
  const std::string body(data + 1, data + size);
  switch (data[0]) {
    case 'r': pawl::check_call(KeyVerb::reserve, body); break;
    case 'a': pawl::check_call(KeyVerb::advance, body); break;
    case 'c': pawl::check_call(KeyVerb::complete, body); break;
    case 'l': pawl::check_call(KeyVerb::release, body); break;
    case 'n': pawl::check_call(KeyVerb::renew, body); break;
    case 'S': {
      const std::size_t line = body.find('\n');
      if (line == std::string::npos) break;
      pawl::check_stored(body.substr(0, line), body.substr(line + 1));
      break;
    }
    default: break;
  }
  return 0;
}
