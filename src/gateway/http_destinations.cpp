#include "src/gateway/http_destinations.hpp"

#include <algorithm>
#include <array>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/core/sha256.hpp"
#include "src/gateway/question.hpp"

namespace pawl::gateway {
namespace {

// Ours to say, whatever the row says.
bool is_ours(std::string_view name) {
  static constexpr std::array names{"Host", "Content-Length", "Expect", "Idempotency-Key",
                                    "Pawl-Signature"};
  return std::ranges::any_of(names, [&](const char* each) { return same_field_name(name, each); });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// A row's path follows the URL's. The default, "/", means the URL as it is.
std::string target_of(const OutboxRow& row, const config::Destination& destination) {
  if (row.path == "/" && !destination.path.empty()) return destination.path;
  return destination.path + row.path;
}

}  // namespace

std::string outbox_signature(std::string_view secret, Instant now, std::string_view body) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const std::string at = std::to_string(seconds);
  std::string signed_bytes = at + ".";
  signed_bytes.append(body);
  std::string signature = "t=" + at;
  return signature.append(",v1=").append(hex(hmac_sha256(secret, signed_bytes)));
}

std::string unsendable(const OutboxRow& row) {
  if (!row.readable) {
    return "its headers are no list of [name, value] pairs, or are sealed with a key that is not "
           "here";
  }
  if (!http::is_token(row.method)) return "its method is no HTTP method";
  if (!row.path.starts_with('/') || !is_visible(row.path) ||
      row.path.find('#') != std::string::npos) {
    return "its path must start with / and have no blanks and no #";
  }
  if (row.derived_key.empty() || !is_visible(row.derived_key)) {
    return "its derived_key cannot stand in a header";
  }
  const bool good = std::ranges::all_of(row.headers, [](const Header& header) {
    return http::is_token(header.name) && http::is_field_value(header.value);
  });
  return good ? std::string() : "one of its headers is no header";
}

std::string OutboxRequest::head(const Record&) {
  std::string out = row_.method + " ";
  out.append(target_of(row_, destination_)).append(" HTTP/1.1\r\n");
  http::append_field(out, "Host", host_);
  for (const Header& header : row_.headers) {
    if (is_ours(header.name) || http::is_hop_by_hop(header.name, {})) continue;
    http::append_field(out, header.name, header.value);
  }
  http::append_field(out, "Idempotency-Key", row_.derived_key);
  if (!destination_.secret.empty()) {
    http::append_field(out, "Pawl-Signature",
                       outbox_signature(destination_.secret, now_(), row_.body));
  }
  http::append_field(out, "Content-Length", std::to_string(row_.body.size()));
  return out.append("\r\n");
}

HttpDestination::HttpDestination(const config::Destination& destination, http::Deadlines& deadlines)
    : destination_(destination), pool_(address_of(destination.url), deadlines) {}

std::string HttpDestination::unsendable(const OutboxRow& row) const {
  return gateway::unsendable(row);
}

Task<CallResult> HttpDestination::send(const OutboxRow& row, const std::function<Instant()>& now,
                                       SendGate& gate, BootTime deadline) {
  OutboxRequest request(row, destination_, pool_.authority(), now);
  http::CallOptions options;
  options.connect_timeout = destination_.connect_timeout;
  options.until_close = http::UntilClose::accept;  // that it answered is what counts
  http::UpstreamCall call(pool_, request, options);
  const Record nothing;
  Outcome outcome = co_await call.send(nothing, gate, deadline);
  co_return CallResult{std::move(outcome), call.took()};
}

HttpDestinations::HttpDestinations(const std::vector<config::Destination>& destinations,
                                   http::Deadlines& deadlines) {
  for (const config::Destination& each : destinations) {
    HttpDestination& destination = destinations_.emplace_back(each, deadlines);
    settings_.push_back({each.name, each.rules, each.concurrency, each.lease, destination});
  }
}

void HttpDestinations::prune() {
  for (HttpDestination& destination : destinations_) destination.prune();
}

}  // namespace pawl::gateway
