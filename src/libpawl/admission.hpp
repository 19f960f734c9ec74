// A request of a service, handed to the boundary.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pawl/http_request.hpp"
#include "src/boundary/boundary.hpp"
#include "src/libpawl/node_core.hpp"

namespace pawl::detail {

struct RouteRules {
  RouteRules() { policy.near_duplicates = WhenNearDuplicate::off; }

  std::string name;
  BoundaryPolicy policy;
  FingerprintSecrets secrets;
  bool keeps_request = false;  // a flow's: so that whoever comes next can go on
  std::vector<std::string> kept_headers;
};

class ServiceContext final : public RequestContext {
 public:
  ServiceContext(const RouteRules& rules, HttpRequest request);
  // For a record that is gone on with: nobody has asked.
  explicit ServiceContext(const RouteRules& rules) : ServiceContext(rules, HttpRequest{}) {}

  [[nodiscard]] bool is_stored() const override { return rules_.keeps_request; }
  [[nodiscard]] std::optional<StoredRequest> to_store() const override;
  [[nodiscard]] const HttpRequest& request() const { return request_; }

 private:
  const RouteRules& rules_;
  const HttpRequest request_;
};

// The key is reserved and ours.
struct Granted {
  std::unique_ptr<ServiceContext> context;
  Boundary::Granted right;
  Record record;  // as reserved

  [[nodiscard]] const std::shared_ptr<Lease>& lease() const { return right.lease; }
};
using Admission = std::variant<Response, Granted>;

// "" where it is sound; else what is wrong with it.
std::string name_trouble(std::string_view route);

// On the node's thread. `rules` must outlive what is granted.
Task<Admission> admit(NodeCore& node, const RouteRules& rules, std::string caller,
                      HttpRequest request);

bool has_key(const HttpRequest& request);

}  // namespace pawl::detail
