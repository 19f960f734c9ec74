// What a failure means, and what of an answer is kept.
#include <algorithm>
#include <array>
#include <vector>

#include "pawl/types/outcome.hpp"
#include "src/core/overloaded.hpp"

namespace pawl {
namespace {

constexpr std::string_view pawl_outcome = "Pawl-Outcome";

// It may have happened; on a transactional route releasing the record makes its commit impossible.
Settling sent_unanswered(const StoredPolicy& policy) {
  return policy.transactional ? Settling::release : Settling::doubt;
}

// The service knows best what it did. Two that disagree, or a word that is not known, is no
// permission to run it again.
std::optional<Settling> said_by_service(const Response& response, const StoredPolicy& policy) {
  const std::string_view word = outcome_said(response);
  if (word.empty()) return std::nullopt;
  if (word == "not-executed") return Settling::release;
  if (word == "executed") return Settling::complete;
  return sent_unanswered(policy);
}

// A Pawl behind this one says so where the request is still running there, or its outcome unknown:
// also where only a person can help, its answer of today is not the last one.
bool is_not_yet(const Response& response) {
  const std::optional<std::string_view> word = find_header(response.headers, "Pawl-Should-Retry");
  return word == "true" ||
         (word && response.body.find(R"("code":"outcome-unknown")") != std::string::npos);
}

// Statuses by which a server says that it has not begun: it wants credentials, saw no request in
// time, is another server's, will not risk a replay, or has no time now.
bool is_refusal(const Response& response) {
  switch (response.status) {
    case 401:
    case 408:
    case 421:
    case 425:
    case 429: return true;
    case 503: return find_header(response.headers, "Retry-After").has_value();
    case 409: return is_not_yet(response);
    default: return false;
  }
}

Settling classify_answer(const Response& response, const StoredPolicy& policy) {
  const int status = response.status;
  // No HTTP status: the upstream may have acted, and it is no answer that could be replayed.
  if (status < 200 || status > 599) return sent_unanswered(policy);
  if (const std::optional<Settling> said = said_by_service(response, policy)) return *said;
  const bool server_error = status >= 500;
  // The service commits through its fence: releasing the record makes that commit impossible.
  if (policy.transactional && server_error) return Settling::release;
  if (is_refusal(response)) {
    switch (policy.on_refusal) {
      case OnRefusal::release: return Settling::release;
      case OnRefusal::hold: return Settling::doubt;
    }
  }
  if (!server_error) return Settling::complete;
  const bool from_a_gateway =
      status == 502 || status == 504;  // the service behind it may have acted
  switch (policy.on_server_error) {
    case OnServerError::store: return Settling::complete;
    case OnServerError::hold: return Settling::doubt;
    case OnServerError::retry: return from_a_gateway ? Settling::doubt : Settling::release;
  }
  return Settling::doubt;
}

// What the Connection fields list: fields of that connection alone.
std::vector<std::string_view> connection_options(const Headers& headers) {
  std::vector<std::string_view> options;
  for (const Header& header : headers) {
    if (!same_field_name(header.name, "Connection")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      std::string_view option = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(option.size() + 1, rest.size()));
      const auto first = option.find_first_not_of(" \t");
      if (first == std::string_view::npos) continue;
      options.push_back(option.substr(first, option.find_last_not_of(" \t") - first + 1));
    }
  }
  return options;
}

// A stored answer is for another connection, another time and another trace.
bool is_stored(const Header& header, const std::vector<std::string_view>& connection_options) {
  static constexpr std::array<std::string_view, 23> never{pawl_outcome,
                                                          "Connection",
                                                          "Keep-Alive",
                                                          "Proxy-Authenticate",
                                                          "Proxy-Authorization",
                                                          "Proxy-Connection",
                                                          "TE",
                                                          "Trailer",
                                                          "Transfer-Encoding",
                                                          "Upgrade",
                                                          "Set-Cookie",
                                                          "Date",
                                                          "Content-Length",
                                                          "Via",
                                                          "traceparent",
                                                          "tracestate",
                                                          "b3",
                                                          "X-B3-TraceId",
                                                          "X-B3-SpanId",
                                                          "X-B3-ParentSpanId",
                                                          "X-B3-Sampled",
                                                          "X-Amzn-Trace-Id",
                                                          "Server-Timing"};
  const auto is_it = [&](std::string_view name) { return same_field_name(name, header.name); };
  return std::ranges::none_of(never, is_it) && std::ranges::none_of(connection_options, is_it);
}

std::size_t bytes_of(const Headers& headers) {
  std::size_t bytes = 0;
  for (const Header& header : headers) bytes += header.name.size() + header.value.size();
  return bytes;
}

}  // namespace

bool is_pawl_outcome(const Header& header) { return same_field_name(header.name, pawl_outcome); }

Evidence evidence_of(const Outcome& outcome) {
  return std::visit(Overloaded{[](const NotSent&) { return Evidence::not_sent; },
                               [](const Lost&) { return Evidence::sent; },
                               [](const Answered&) { return Evidence::answered; }},
                    outcome);
}

std::string_view outcome_said(const Response& response) {
  static constexpr std::array<std::string_view, 3> words{"not-executed", "executed", "unknown"};
  constexpr std::string_view not_understood = "not understood";
  std::string_view said;
  for (const Header& header : response.headers) {
    if (!is_pawl_outcome(header)) continue;
    const auto* const word = std::ranges::find(words, header.value);
    if (word == words.end() || (!said.empty() && said != *word)) return not_understood;
    said = *word;
  }
  return said;
}

Settling classify(const Outcome& outcome, const StoredPolicy& policy) {
  return std::visit(Overloaded{[](const NotSent&) { return Settling::release; },
                               [&](const Lost&) { return sent_unanswered(policy); },
                               [&](const Answered& answer) {
                                 const int status = answer.response.status;
                                 if (answer.is_final && status >= 200 && status <= 599)
                                   return Settling::complete;
                                 return classify_answer(answer.response, policy);
                               }},
                    outcome);
}

StoredResponse storable(const Response& response, const SettleOptions& options) {
  StoredResponse kept{.status = response.status, .headers = {}, .body = {}, .schema_version = 1};
  const std::vector<std::string_view> of_connection = connection_options(response.headers);
  kept.headers.reserve(response.headers.size());
  std::ranges::copy_if(response.headers, std::back_inserter(kept.headers),
                       [&](const Header& header) { return is_stored(header, of_connection); });
  // Too large to keep never frees the key: the body is withheld, the record is completed.
  const std::size_t bytes = bytes_of(kept.headers) + response.body.size();
  if (response.body.empty() || bytes <= options.response_bytes_max) kept.body = response.body;
  return kept;
}

StoredResponse storable(const Answered& answer, const SettleOptions& options) {
  StoredResponse kept = storable(answer.response, options);
  if (answer.withheld) kept.body.reset();
  return kept;
}

}  // namespace pawl
