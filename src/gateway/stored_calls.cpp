#include "src/gateway/stored_calls.hpp"

#include "src/adapters/http/forwarding.hpp"
#include "src/gateway/upstream_attempt.hpp"

namespace pawl::gateway {
namespace {

// Its client is gone; what is left of it is its scope and, where no caller was chosen, a digest of
// its credentials. Never that of a client that is here.
std::string sender_of(const Record& record) {
  return "async:" + record.scope.text + ":" + record.policy.credentials;
}

// A stored request, written as it would have been when it came.
class Stored final : public http::RequestWriter {
 public:
  Stored(const Record& record, config::ForwardKey forward_key, std::string_view pseudonym,
         std::string_view default_host)
      : record_(record),
        forward_key_(forward_key),
        pseudonym_(pseudonym),
        default_host_(default_host) {}

  std::string head(const Record& attempt) override {
    const StoredRequest& kept = *record_.request;
    http::RequestHead parts;
    parts.method = record_.method;
    const std::string_view target = kept.target;
    const std::size_t question = target.find('?');
    parts.path = target.substr(0, question);
    parts.has_query = question != std::string_view::npos;
    if (parts.has_query) parts.query = target.substr(question + 1);
    for (const Header& header : kept.headers) {
      parts.fields.push_back({header.name, header.value});
    }
    parts.host = http::find(parts.fields, "Host").value_or(default_host_);
    const ForwardKey sent_key = sent_key_of(attempt, forward_key_);
    const Headers extra = attempt_headers(attempt, sent_key);
    http::ForwardOptions options;
    options.pseudonym = pseudonym_;
    options.client = "unknown";  // long gone
    options.default_host = default_host_;
    options.names_key = sent_key == ForwardKey::same;
    options.extra = &extra;
    std::string out;
    http::append_request(out, parts, options);
    http::append_field(out, "Content-Length", std::to_string(kept.body.size()));
    if (record_.method == "DELETE" && !kept.body.empty()) {  // as when it is forwarded at once
      http::append_field(out, "Connection", "close");
    }
    out += "\r\n";
    return out;
  }

  [[nodiscard]] std::string_view body() const override { return record_.request->body; }

 private:
  const Record& record_;
  config::ForwardKey forward_key_;
  std::string_view pseudonym_;
  std::string_view default_host_;
};

class HttpStoredCall final : public workers::StoredCall {
 public:
  HttpStoredCall(const Record& record, const config::RoutePolicy& policy, NodeServices& shared,
                 http::UpstreamPool& upstream)
      : stored_(record, policy.forward_key, shared.pseudonym, upstream.authority()),
        call_(upstream, stored_, options_for(record, policy, shared)) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    return call_.send(attempt, gate, deadline);
  }
  [[nodiscard]] Duration took() const override { return call_.took(); }

 private:
  static http::CallOptions options_for(const Record& record, const config::RoutePolicy& policy,
                                       NodeServices& shared) {
    http::CallOptions options;
    options.connect_timeout = policy.upstream_connect_timeout;
    options.idle_max = policy.upstream_idle;
    options.sender = sender_of(record);
    // Nobody waits for a large one: its body is dropped.
    read_answers(options, policy, shared.memory);
    return options;
  }

  Stored stored_;
  http::UpstreamCall call_;
};

}  // namespace

std::shared_ptr<const config::RoutePolicy> HttpStoredCalls::policy_of(const Record& record) const {
  const SharedConfig served = shared_.in_force.now();
  const config::Route* const named = served->routes.named(record.route);
  const config::Route& route = named == nullptr ? served->routes.fallback() : *named;
  return {served, &route.policy};
}

SettleOptions HttpStoredCalls::settle_options(const Record& record) const {
  const std::shared_ptr<const config::RoutePolicy> policy = policy_of(record);
  return {policy->response_bytes_max, policy->resource_type, policy->resource_id};
}

std::unique_ptr<workers::StoredCall> HttpStoredCalls::call_for(const Record& record) {
  return std::make_unique<HttpStoredCall>(record, *policy_of(record), shared_, upstream_);
}

}  // namespace pawl::gateway
