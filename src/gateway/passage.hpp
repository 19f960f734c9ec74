// One request on its way through the gateway.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/core/fingerprint.hpp"
#include "src/gateway/gateway.hpp"

namespace pawl::gateway {

struct Gateway::Passage {
  Passage(http::ClientRequest& incoming, const config::Route& matched, BootTime now)
      : request(incoming), route(matched), policy(matched.policy), arrived_at(now) {}

  http::ClientRequest& request;
  const config::Route& route;
  const config::RoutePolicy& policy;
  BootTime arrived_at;

  Scope scope;
  Key key;
  std::string_view key_as_sent;
  std::string body;
  Fingerprint fingerprint;

  std::optional<DecisionKind> decided;  // by the last look at the record
  LogLine line;
  std::string request_id;  // of the answer
  Duration upstream_took{0};

  [[nodiscard]] RequestContent content() const;
  [[nodiscard]] Dialect dialect() const;
};

}  // namespace pawl::gateway
