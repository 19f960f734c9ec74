#include "src/boundary/key_calls.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "pawl/types/json.hpp"
#include "src/core/encoding.hpp"
#include "src/core/field_syntax.hpp"
#include "src/core/json_text.hpp"
#include "src/core/nearest.hpp"

namespace pawl {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t owner_bytes_min = 16;
constexpr std::size_t owner_bytes_max = 128;
constexpr std::size_t text_bytes_max = 255;

static_assert(handed_fields_max == 200 && handed_field_bytes_max == 64U << 10U,
              "the messages below name these");

// The first trouble, as "/fence must be ..."; everything after it is not looked at.
struct Trouble {
  std::string what;
  void at(std::string_view pointer, std::string_view must) {
    if (!what.empty()) return;
    what = pointer.empty() ? std::string("the body") : std::string(pointer);
    what.append(" ").append(must);
  }
};

bool is_printable(std::string_view text, char from) {
  return std::ranges::all_of(text, [=](char c) { return c >= from && c <= '~'; });
}

// For a message: the name that a caller has sent, were it as long as its body.
std::string shortened(const std::string& name) {
  constexpr std::size_t shown_max = 64;
  if (name.size() <= shown_max) return name;
  std::size_t end = shown_max;  // whole characters of UTF-8 only
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end) + "...";
}

void check_members(const Value& object, std::string_view where,
                   std::span<const std::string_view> known, Trouble& trouble) {
  for (const json::Member& member : object.members) {
    if (std::ranges::find(known, member.name) != known.end()) continue;
    const std::string name = shortened(member.name);
    const std::string pointer = std::string(where) + json::to_text(json::Pointer{{name}});
    const std::string_view near = nearest(name, known);
    std::string must = "is not known here";
    if (!near.empty())
      must.append("; did you mean ").append(where).append("/").append(near).append("?");
    return trouble.at(pointer, must);
  }
}

std::optional<std::int64_t> whole_number(const Value& value) {
  std::int64_t number = 0;
  const char* end = value.text.data() + value.text.size();
  if (value.kind != Kind::number) return std::nullopt;
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

void read_owner(const Value& body, KeyCall& call, Trouble& trouble) {
  const Value* owner = body.find("owner");
  const bool good = owner != nullptr && owner->kind == Kind::string &&
                    owner->text.size() >= owner_bytes_min &&
                    owner->text.size() <= owner_bytes_max && is_printable(owner->text, '!');
  if (!good) {
    trouble.at("/owner",
               "must be a token of 16 to 128 visible ASCII characters, made at random for each "
               "attempt, like a UUID");
    return;
  }
  call.owner.text = owner->text;
}

void read_fence(const Value& body, KeyCall& call, Trouble& trouble) {
  const Value* fence = body.find("fence");
  const std::optional<std::int64_t> number = fence == nullptr ? std::nullopt : whole_number(*fence);
  if (!number || *number < 1) {
    trouble.at("/fence", "must be the whole number that reserve answered");
    return;
  }
  call.fence = Fence{*number};
}

void read_meaning(const Value& body, KeyCall& call, Trouble& trouble) {
  const Value* request = body.find("request");
  const Value* fingerprint = body.find("fingerprint");
  if ((request == nullptr) == (fingerprint == nullptr)) {
    trouble.at("",
               "must have either /request, what the operation means as JSON, or /fingerprint, your "
               "own hash of it: a key that is used for another operation is recognised by it");
    return;
  }
  if (request != nullptr) {
    json::append_text(call.meaning, *request);
    call.meaning_type = "application/json";
    return;
  }
  const bool good = fingerprint->kind == Kind::string && !fingerprint->text.empty() &&
                    fingerprint->text.size() <= text_bytes_max &&
                    is_printable(fingerprint->text, ' ');
  if (!good) return trouble.at("/fingerprint", "must be 1 to 255 printable ASCII characters");
  call.meaning = fingerprint->text;
  call.meaning_type = "text/plain";
}

void read_text(const Value& body, std::string_view name, bool required, std::string& into,
               Trouble& trouble) {
  const Value* value = body.find(name);
  if (value == nullptr && !required) return;
  const bool good = value != nullptr && value->kind == Kind::string &&
                    value->text.size() <= text_bytes_max && is_printable(value->text, ' ') &&
                    !(required && value->text.empty());
  if (!good) {
    return trouble.at("/" + std::string(name),
                      required ? "must be 1 to 255 printable ASCII characters"
                               : "must be up to 255 printable ASCII characters");
  }
  into = value->text;
}

// Required, and empty at first: without it a call that was delayed could not be told from a new
// one.
void read_after(const Value& body, KeyCall& call, Trouble& trouble) {
  if (body.find("after") == nullptr) {
    return trouble.at("/after",
                      "must be the recovery point that you hold, as reserve or your last advance "
                      "answered it; \"\" where there is none yet");
  }
  read_text(body, "after", false, call.after, trouble);
}

void read_headers(const Value& response, Headers& into, Trouble& trouble) {
  const Value* headers = response.find("headers");
  if (headers == nullptr) return;
  if (headers->kind != Kind::array) {
    return trouble.at("/response/headers", R"(must be a list of pairs, like [["Name","value"]])");
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < headers->items.size(); ++i) {
    if (i == handed_fields_max) {
      return trouble.at("/response/headers", "must have 200 fields at most");
    }
    const Value& pair = headers->items[i];
    const bool good = pair.kind == Kind::array && pair.items.size() == 2 &&
                      pair.items[0].kind == Kind::string && pair.items[1].kind == Kind::string &&
                      is_token(pair.items[0].text) && is_field_value(pair.items[1].text);
    if (!good) {
      return trouble.at("/response/headers/" + std::to_string(i),
                        R"(must be a header field's name and value, like ["Name","value"])");
    }
    bytes += pair.items[0].text.size() + pair.items[1].text.size();
    if (bytes > handed_field_bytes_max) {
      return trouble.at("/response/headers", "must have 64 KiB of names and values at most");
    }
    into.push_back({pair.items[0].text, pair.items[1].text});
  }
}

void read_content(const Value& response, Response& into, Trouble& trouble) {
  const Value* text = response.find("body");
  const Value* bytes = response.find("body_base64");
  const Value* document = response.find("body_json");
  const int given = (text != nullptr) + (bytes != nullptr) + (document != nullptr);
  if (given > 1) {
    return trouble.at("/response", "must have one of /body, /body_json and /body_base64 at most");
  }
  if (text != nullptr) {
    if (text->kind != Kind::string) {
      return trouble.at("/response/body",
                        "must be a text; for a JSON document use /response/body_json");
    }
    into.body = text->text;
  }
  if (document != nullptr) {
    json::append_text(into.body, *document);
    if (!find_header(into.headers, "Content-Type")) {
      into.headers.push_back({"Content-Type", "application/json"});
    }
  }
  if (bytes != nullptr) {
    std::optional<std::string> decoded =
        bytes->kind == Kind::string ? from_base64(bytes->text, Base64Rules::strict) : std::nullopt;
    if (!decoded) {
      return trouble.at("/response/body_base64", "must be base64 with its padding (RFC 4648)");
    }
    into.body = std::move(*decoded);
  }
}

void read_response(const Value& body, KeyCall& call, Trouble& trouble) {
  static constexpr std::array<std::string_view, 5> known{"status", "headers", "body", "body_json",
                                                         "body_base64"};
  call.response.status = 200;
  const Value* response = body.find("response");
  if (response == nullptr) return;
  if (response->kind != Kind::object) return trouble.at("/response", "must be an object");
  check_members(*response, "/response", known, trouble);
  if (const Value* status = response->find("status")) {
    const std::optional<std::int64_t> number = whole_number(*status);
    if (!number || *number < 200 || *number > 599) {
      return trouble.at("/response/status", "must be a final HTTP status, 200 to 599");
    }
    call.response.status = static_cast<int>(*number);
  }
  read_headers(*response, call.response.headers, trouble);
  read_content(*response, call.response, trouble);
}

std::vector<std::string_view> members_of(KeyVerb verb) {
  switch (verb) {
    case KeyVerb::reserve: return {"owner", "request", "fingerprint"};
    case KeyVerb::advance: return {"owner", "fence", "after", "recovery_point"};
    case KeyVerb::complete: return {"owner", "fence", "response"};
    case KeyVerb::release: return {"owner", "fence", "reason"};
    case KeyVerb::renew: return {"owner", "fence"};
  }
  return {};
}

}  // namespace

Expected<KeyCall, std::string> read_key_call(KeyVerb verb, std::string_view body) {
  const Expected<Value, json::Error> document = json::read(body);
  if (!document) {
    return Unexpected{"The body is not valid JSON: " + document.error().what + " at byte " +
                      std::to_string(document.error().at_byte) + "."};
  }
  KeyCall call;
  Trouble trouble;
  if (document->kind != Kind::object) {
    trouble.at("", "must be a JSON object");
  } else {
    check_members(*document, "", members_of(verb), trouble);
    read_owner(*document, call, trouble);
    if (verb != KeyVerb::reserve) read_fence(*document, call, trouble);
  }
  if (trouble.what.empty()) {
    switch (verb) {
      case KeyVerb::reserve: read_meaning(*document, call, trouble); break;
      case KeyVerb::advance:
        read_after(*document, call, trouble);
        read_text(*document, "recovery_point", true, call.recovery_point, trouble);
        break;
      case KeyVerb::complete: read_response(*document, call, trouble); break;
      case KeyVerb::release: read_text(*document, "reason", false, call.reason, trouble); break;
      case KeyVerb::renew: break;
    }
  }
  if (trouble.what.empty()) return call;
  if (!trouble.what.ends_with('?')) trouble.what += '.';
  if (trouble.what.starts_with("the body")) trouble.what[0] = 'T';
  return Unexpected{std::move(trouble.what)};
}

}  // namespace pawl
