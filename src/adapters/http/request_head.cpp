#include <algorithm>
#include <array>

#include "src/adapters/http/fields.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/adapters/http/target.hpp"

namespace pawl::http {
namespace {

constexpr std::size_t empty_lines_max = 2;  // before the request line: some old clients send one
constexpr std::size_t method_bytes_max = 32;

Unexpected<Refusal> refuse(std::string detail, Problem problem = Problem::bad_request,
                           std::optional<int> status = std::nullopt) {
  return Unexpected{Refusal{problem, std::move(detail), status}};
}

// Where the next CR or LF is; the end where there is none.
std::size_t find_line_end(std::string_view text, std::size_t from) {
  const std::size_t cr = std::min(text.find('\r', from), text.size());
  return std::min(text.substr(0, cr).find('\n', from), cr);
}

// "HTTP/" DIGIT "." DIGIT, nothing else. The minor version, or why not.
Expected<int, Refusal> read_version(std::string_view text) {
  const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) &&
                           text[6] == '.' && is_digit(text[7]);
  if (!well_formed) return refuse("The request line must end in HTTP/1.1.");
  if (text[5] != '1') {
    return refuse("Only HTTP/1.1 and HTTP/1.0 are spoken here.", Problem::version_not_supported);
  }
  return text[7] == '0' ? 0 : 1;
}

std::optional<Refusal> check_method(std::string_view method) {
  if (!is_token(method)) return Refusal{Problem::bad_request, "The method is not a token.", {}};
  static constexpr std::array known{"GET",   "HEAD",    "POST",  "PUT",    "DELETE",
                                    "PATCH", "OPTIONS", "TRACE", "CONNECT"};
  const bool in_other_case = std::ranges::any_of(
      known, [&](std::string_view name) { return name != method && same_word(name, method); });
  if (in_other_case) {
    return Refusal{Problem::not_implemented, "Methods are written in capitals.", {}};
  }
  if (method.size() > method_bytes_max) {
    return Refusal{Problem::not_implemented, "No method is that long.", {}};
  }
  if (method == "CONNECT") {
    return Refusal{Problem::not_implemented, "This is a gateway, not a tunnel.", {}};
  }
  if (method == "TRACE") {
    return Refusal{Problem::bad_request, "TRACE would reflect credentials.", 405};
  }
  return std::nullopt;
}

std::optional<Refusal> read_request_line(std::string_view line, const HeadLimits& limits,
                                         RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    const bool long_word = line.size() > method_bytes_max && first == std::string_view::npos;
    return Refusal{long_word ? Problem::not_implemented : Problem::bad_request,
                   "The request line must be: METHOD /path HTTP/1.1",
                   {}};
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const Expected<int, Refusal> version = read_version(line.substr(last + 1));
  if (!version) return version.error();
  head.minor_version = *version;
  head.method = line.substr(0, first);
  if (std::optional<Refusal> refusal = check_method(head.method)) return refusal;
  if (target.size() > limits.target_bytes_max) {
    return Refusal{Problem::uri_too_long, "The request target is too long.", {}};
  }
  return read_target(target, head);
}

// Fields that mean one thing each; two of them are two meanings. (Content-Length and
// Transfer-Encoding are read_framing's.)
constexpr std::array single_valued{
    "Host", "Content-Type", "Authorization", "Content-Encoding", "traceparent", "Idempotency-Key"};

// Some upstreams read '_' (or any character that is no letter and no digit) as '-': the twin of a
// field we act on would mean something there that nobody checked here.
bool is_odd(char c) { return c != '-' && !is_digit(c) && !is_alpha(c); }

bool is_twin_of_known(std::string_view name) {
  if (std::ranges::none_of(name, is_odd)) return false;
  std::string dashed(name);
  std::ranges::replace_if(dashed, is_odd, '-');
  static constexpr std::array acted_on{"Content-Length",
                                       "Transfer-Encoding",
                                       "Connection",
                                       "Expect",
                                       "Upgrade",
                                       "Via",
                                       "X-HTTP-Method-Override",
                                       "X-HTTP-Method",
                                       "X-Method-Override",
                                       "X-Original-URL",
                                       "X-Rewrite-URL"};
  const auto is_it = [&](std::string_view known) { return same_word(known, dashed); };
  return std::ranges::any_of(single_valued, is_it) || std::ranges::any_of(acted_on, is_it) ||
         starts_with_word(dashed, "Pawl-") || starts_with_word(dashed, "X-Forwarded-");
}

std::optional<Refusal> check_fields(const Fields& fields) {
  std::array<bool, single_valued.size()> seen{};
  for (const Field& field : fields) {
    if (is_twin_of_known(field.name)) {
      return Refusal{Problem::bad_request,
                     "A header name has '_' or the like where the known header has '-'.",
                     {}};
    }
    for (std::size_t i = 0; i < single_valued.size(); ++i) {
      if (!same_word(field.name, single_valued[i])) continue;
      if (seen[i]) {
        const bool is_key = same_word(field.name, "Idempotency-Key");
        return Refusal{is_key ? Problem::key_invalid : Problem::bad_request,
                       std::string(single_valued[i]) + " is there more than once.",
                       {}};
      }
      seen[i] = true;
    }
  }
  return std::nullopt;
}

// A field that a message's meaning hangs on must not vanish on the way because Connection lists it.
std::optional<Refusal> check_connection(const std::vector<std::string>& members) {
  static constexpr std::array end_to_end{"idempotency-key", "authorization", "host",  "cookie",
                                         "traceparent",     "tracestate",    "range", "expect"};
  for (const std::string& member : members) {
    const bool kept = std::ranges::find(end_to_end, member) != end_to_end.end() ||
                      member.starts_with("content-") || member.starts_with("if-");
    if (kept) {
      return Refusal{Problem::bad_request, "Connection may not list " + member + ".", {}};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> read_host(RequestHead& head) {
  const std::optional<std::string_view> host = find(head.fields, "Host");
  if (!host) {
    if (head.minor_version == 0) return std::nullopt;
    return Refusal{Problem::bad_request, "The Host header is missing.", {}};
  }
  if (host->empty() || !is_authority(*host)) {
    return Refusal{Problem::bad_request, "The Host header is not a host and port.", {}};
  }
  if (!head.host.empty() && !same_word(head.host, *host)) {
    return Refusal{Problem::bad_request, "The request target and the Host header differ.", {}};
  }
  head.host = *host;
  return std::nullopt;
}

std::optional<Refusal> read_expectation(RequestHead& head) {
  if (head.minor_version == 0) return std::nullopt;
  for (const Field& field : head.fields) {
    if (!same_word(field.name, "Expect")) continue;
    if (!same_word(field.value, "100-continue")) {
      return Refusal{
          Problem::expectation_failed, "The only expectation known is 100-continue.", {}};
    }
    head.expects_continue = true;
  }
  return std::nullopt;
}

}  // namespace

bool may_be_taken_for(std::string_view name, std::string_view other) {
  const auto dashed = [](char c) { return is_odd(c) ? '-' : lower(c); };
  return std::ranges::equal(name, other, {}, dashed, dashed);
}

bool is_doubtful(const RequestHead& head, std::string_view name) {
  const auto count = std::ranges::count_if(
      head.fields, [&](const Field& field) { return may_be_taken_for(field.name, name); });
  const auto is_it = [&](const std::string& listed) { return same_word(listed, name); };
  const bool exact = find(head.fields, name).has_value();
  return count > 1 || (count == 1 && !exact) || std::ranges::any_of(head.connection, is_it);
}

Expected<std::optional<std::size_t>, Refusal> HeadScanner::scan(std::string_view so_far) {
  // What is past the limit is not looked at: the verdict may not hang on how the bytes arrived.
  const bool too_long = so_far.size() > bytes_max_;
  so_far = so_far.substr(0, bytes_max_);
  for (;;) {
    scanned_ = find_line_end(so_far, scanned_);
    if (scanned_ == so_far.size()) break;
    if (so_far[scanned_] == '\n') return refuse("A line ends in LF without CR.");
    if (scanned_ + 1 == so_far.size()) break;  // its LF may be the next byte
    if (so_far[scanned_ + 1] != '\n') return refuse("A CR stands alone.");
    const bool empty_line = scanned_ == line_start_;
    line_start_ = scanned_ += 2;
    if (empty_line && first_line_over_) return std::optional<std::size_t>{line_start_};
    if (empty_line && line_start_ > 2 * empty_lines_max) {
      return refuse("There are empty lines before the request line.");
    }
    if (!empty_line) first_line_over_ = true;
  }
  if (!too_long) return std::optional<std::size_t>{};
  if (first_line_over_) {
    return refuse("The header section is too large.", Problem::headers_too_large);
  }
  const bool in_method = so_far.find(' ') == std::string_view::npos;
  return refuse("The request line is too long.",
                in_method ? Problem::not_implemented : Problem::uri_too_long);
}

Expected<RequestHead, Refusal> parse_request_head(std::string_view bytes,
                                                  const HeadLimits& limits) {
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  const std::size_t line_end = bytes.find("\r\n");
  RequestHead head;
  if (auto refusal = read_request_line(bytes.substr(0, line_end), limits, head)) {
    return Unexpected{*refusal};
  }
  head.fields.reserve(16);
  const std::string_view lines = bytes.substr(line_end + 2, bytes.size() - line_end - 4);
  if (auto trouble =
          read_fields(lines, limits.field_count_max, BlanksBeforeColon::refused, head.fields)) {
    return refuse(std::move(trouble->what), trouble->problem);
  }
  if (auto refusal = check_fields(head.fields)) return Unexpected{*refusal};
  if (!read_connection(head.fields, head.connection)) {
    return refuse("Connection must be a list of names.");
  }
  if (auto refusal = check_connection(head.connection)) return Unexpected{*refusal};
  if (auto refusal = read_host(head)) return Unexpected{*refusal};
  Expected<FoundFraming, FieldTrouble> framing = read_framing(head.fields, head.minor_version);
  if (!framing) return refuse(std::move(framing.error().what), framing.error().problem);
  head.framing = framing->framing;
  head.length = framing->length;
  if (auto refusal = read_expectation(head)) return Unexpected{*refusal};
  // A proxy does not keep an HTTP/1.0 connection alive (RFC 9112 section 9.3).
  const bool close = std::ranges::find(head.connection, "close") != head.connection.end();
  head.keep_alive = head.minor_version == 1 && !close;
  return head;
}

}  // namespace pawl::http
