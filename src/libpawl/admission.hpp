// From a request to the right to execute it, or to the answer it gets instead. The same core as the
// gateway's: key, fingerprint, reserve, render.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pawl/core/fingerprint.hpp"
#include "pawl/core/policy.hpp"
#include "pawl/core/render.hpp"
#include "pawl/engine.hpp"
#include "pawl/http_request.hpp"
#include "src/libpawl/node_core.hpp"

namespace pawl::detail {

struct RouteRules {
  std::string name;
  Policy policy;
  FingerprintSecrets secrets;
  Duration wait_limit{0};
  bool keeps_request = false;  // a flow's: so that whoever comes next can go on
  std::vector<std::string> kept_headers;
};

// The key is reserved and ours.
struct Granted {
  std::shared_ptr<Lease> lease;
  Record record;  // as reserved
  Dialect dialect;
};
using Admission = std::variant<Response, Granted>;

// Records of the library are not the gateway's: both may guard the same request in one store.
Scope scope_of(std::string_view caller);
// "" where it is sound; else what is wrong with it.
std::string name_trouble(std::string_view route);

// On the node's thread. The arguments must outlive it.
Task<Admission> admit(NodeCore& node, const RouteRules& rules, std::string_view caller,
                      const HttpRequest& request);

bool has_key(const HttpRequest& request);
Response problem(NodeCore& node, const Dialect& dialect, ProblemDetails details);

// What an owner whose outcome was settled, or could not be, tells its client.
Response render_settlement(NodeCore& node, const Granted& granted, const Outcome& outcome,
                           const StoreResult<Settlement>& settlement);

}  // namespace pawl::detail
