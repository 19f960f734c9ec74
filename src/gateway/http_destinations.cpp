#include "src/gateway/http_destinations.hpp"

#include "src/gateway/outbox_request.hpp"
#include "src/gateway/question.hpp"

namespace pawl::gateway {

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
