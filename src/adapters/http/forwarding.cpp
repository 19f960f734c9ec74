#include "src/adapters/http/forwarding.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "src/adapters/http/client_address.hpp"
#include "src/adapters/http/fields.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

std::string_view reason_of(int status) {
  struct Reason {
    int status;
    std::string_view text;
  };
  static constexpr std::array reasons{Reason{200, "OK"},
                                      Reason{201, "Created"},
                                      Reason{202, "Accepted"},
                                      Reason{204, "No Content"},
                                      Reason{206, "Partial Content"},
                                      Reason{301, "Moved Permanently"},
                                      Reason{302, "Found"},
                                      Reason{303, "See Other"},
                                      Reason{304, "Not Modified"},
                                      Reason{307, "Temporary Redirect"},
                                      Reason{308, "Permanent Redirect"},
                                      Reason{400, "Bad Request"},
                                      Reason{401, "Unauthorized"},
                                      Reason{402, "Payment Required"},
                                      Reason{403, "Forbidden"},
                                      Reason{404, "Not Found"},
                                      Reason{405, "Method Not Allowed"},
                                      Reason{408, "Request Timeout"},
                                      Reason{409, "Conflict"},
                                      Reason{410, "Gone"},
                                      Reason{413, "Content Too Large"},
                                      Reason{414, "URI Too Long"},
                                      Reason{415, "Unsupported Media Type"},
                                      Reason{417, "Expectation Failed"},
                                      Reason{422, "Unprocessable Content"},
                                      Reason{429, "Too Many Requests"},
                                      Reason{431, "Request Header Fields Too Large"},
                                      Reason{500, "Internal Server Error"},
                                      Reason{501, "Not Implemented"},
                                      Reason{502, "Bad Gateway"},
                                      Reason{503, "Service Unavailable"},
                                      Reason{504, "Gateway Timeout"},
                                      Reason{505, "HTTP Version Not Supported"},
                                      Reason{508, "Loop Detected"}};
  const auto found = std::ranges::find(reasons, status, &Reason::status);
  return found == reasons.end() ? std::string_view{} : found->text;
}

// Ours to write on every hop, or about us and not the upstream.
bool is_rewritten(std::string_view name) {
  static constexpr std::array names{"Host", "Content-Length",  "Expect",
                                    "Via",  "X-Forwarded-For", "Forwarded"};
  return std::ranges::any_of(names,
                             [&](std::string_view known) { return same_word(known, name); }) ||
         starts_with_word(name, "Pawl-");
}

bool is_override(std::string_view name) {
  if (!starts_with_word(name, "X-")) return false;
  static constexpr std::array names{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
                                    "X-Original-URL", "X-Rewrite-URL"};
  return std::ranges::any_of(names, [&](std::string_view known) { return same_word(known, name); });
}

void append_list_field(std::string& out, const Fields& fields, std::string_view name,
                       std::string_view added) {
  std::string value = joined_values(fields, name);
  if (!value.empty() && !added.empty()) value += ", ";
  value += added;
  append_field(out, name, value);
}

// Only where one came: X-Forwarded-For says the same, and is what most services read. To one that
// is malformed nothing can be added: what came would swallow it.
void append_forwarded(std::string& out, const RequestHead& head, const ForwardOptions& options) {
  std::string value = joined_values(head.fields, "Forwarded");
  if (value.empty()) return;
  if (!is_forwarded_list(value)) value.clear();
  if (!options.client.empty()) {
    if (!value.empty()) value += ", ";
    value += forwarded_for(options.client) + ";proto=" + std::string(options.scheme);
  }
  if (!value.empty()) append_field(out, "Forwarded", value);
}

// Not the name itself, but one that some servers take for it.
bool is_twin(std::string_view name, std::string_view of) {
  return !of.empty() && may_be_taken_for(name, of) && !same_word(name, of);
}

}  // namespace

bool is_hop_by_hop(std::string_view name, const std::vector<std::string>& connection) {
  switch (name.size()) {  // the common fields are none of these lengths' names
    case 2:
      if (same_word(name, "TE")) return true;
      break;
    case 7:
      if (same_word(name, "Upgrade") || same_word(name, "Trailer")) return true;
      break;
    case 10:
      if (same_word(name, "Connection") || same_word(name, "Keep-Alive")) return true;
      break;
    case 16:
      if (same_word(name, "Proxy-Connection")) return true;
      break;
    case 17:
      if (same_word(name, "Transfer-Encoding")) return true;
      break;
    case 18:
      if (same_word(name, "Proxy-Authenticate")) return true;
      break;
    case 19:
      if (same_word(name, "Proxy-Authorization")) return true;
      break;
    default: break;
  }
  return std::ranges::any_of(connection,
                             [&](const std::string& listed) { return same_word(listed, name); });
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_request(std::string& out, const RequestHead& head, const ForwardOptions& options) {
  out.append(head.method).append(" ").append(head.path);
  if (head.has_query) out.append("?").append(head.query);
  out.append(" HTTP/1.1\r\n");
  append_field(out, "Host", head.host.empty() ? options.default_host : head.host);
  const bool bounded_hops = head.method == "OPTIONS";
  bool has_proto = false;
  for (const Field& field : head.fields) {
    if (is_hop_by_hop(field.name, head.connection) || is_rewritten(field.name)) continue;
    if (!options.names_key && same_word(field.name, "Idempotency-Key")) continue;
    if (is_override(field.name)) continue;
    if (!options.forbidden.empty() && may_be_taken_for(field.name, options.forbidden)) continue;
    if (is_twin(field.name, options.only_as_spelled)) continue;
    if (same_word(field.name, "X-Forwarded-Proto")) has_proto = true;
    if (bounded_hops && same_word(field.name, "Max-Forwards")) {
      const std::optional<std::uint64_t> hops = read_decimal(field.value);
      if (hops && *hops > 0) append_field(out, field.name, std::to_string(*hops - 1));
      continue;
    }
    append_field(out, field.name, field.value);
  }
  append_list_field(out, head.fields, "X-Forwarded-For", options.client);
  append_forwarded(out, head, options);
  if (!has_proto) append_field(out, "X-Forwarded-Proto", options.scheme);
  std::string via = head.minor_version == 0 ? "1.0 " : "1.1 ";
  via += options.pseudonym;
  append_list_field(out, head.fields, "Via", via);
  if (options.extra != nullptr) {
    for (const Header& header : *options.extra) append_field(out, header.name, header.value);
  }
}

bool is_loop(const RequestHead& head, std::string_view pseudonym) {
  for (const Field& field : head.fields) {
    if (!same_word(field.name, "Via")) continue;
    if (field.value.find(pseudonym) != std::string_view::npos) return true;
  }
  return false;
}

Headers end_to_end(const ResponseHead& head) {
  Headers headers;
  headers.reserve(head.fields.size());
  for (const Field& field : head.fields) {
    if (is_hop_by_hop(field.name, head.connection)) continue;
    if (same_word(field.name, "Content-Length")) continue;
    headers.push_back({std::string(field.name), std::string(field.value)});
  }
  return headers;
}

void append_status_line(std::string& out, int status) {
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  out.append(reason_of(status)).append("\r\n");
}

// Written once a second: it is the same for every answer in it.
void append_date(std::string& out) {
  thread_local std::int64_t second = -1;
  thread_local std::string text;
  const auto now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const std::int64_t this_second =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  if (this_second != second) {
    second = this_second;
    text = imf_fixdate(Instant(now));
  }
  append_field(out, "Date", text);
}

void append_answer_head(std::string& out, const Response& response, const AnswerOptions& options) {
  append_status_line(out, response.status);
  bool dated = false;
  for (const Header& header : response.headers) {
    if (same_word(header.name, "Content-Length") || is_hop_by_hop(header.name, {})) continue;
    if (!is_token(header.name) || !is_field_value(header.value)) continue;
    if (same_word(header.name, "Date")) dated = true;
    append_field(out, header.name, header.value);
  }
  if (!dated) append_date(out);
  const bool bodiless = response.status == 204 || response.status == 304;
  const std::uint64_t length = options.length.value_or(response.body.size());
  if (!bodiless) append_field(out, "Content-Length", std::to_string(length));
  if (!options.keep_alive) append_field(out, "Connection", "close");
  out += "\r\n";
}

}  // namespace pawl::http
