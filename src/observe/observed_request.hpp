// What observe mode sees of a request, and of its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "pawl/types/outcome.hpp"
#include "src/core/boundary_policy.hpp"
#include "src/observe/predicted_decision.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::observe {

// What a prediction needs of a request's route, whatever becomes of the configuration meanwhile.
struct ObservedRoute {
  std::string name;
  std::shared_ptr<const BoundaryPolicy> policy;
  Duration upstream_connect_timeout{0};
};

// A request as it came. Nothing of it is examined on the request's own path.
struct ObservedRequest {
  ObservedRoute route;
  ObservedKey id;                            // no key: the digest is empty
  std::string key_name;                      // as logs name it; empty: none
  Owner owner;                               // of this request alone
  std::string client;                        // where no caller was chosen: whose it is,
  std::string credentials;                   // and what a record would keep of that
  BootTime at;                               // when its body was there
  std::optional<PredictedDecision> certain;  // known without asking: a refusal
  std::string method;
  std::string path;
  std::string query;
  std::string content_type;
  std::string body;
  // Made by the recorder.
  Fingerprint fingerprint;
  bool near_duplicate = false;

  [[nodiscard]] RequestContent content() const {
    return {
        .method = method, .path = path, .query = query, .content_type = content_type, .body = body};
  }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(ObservedRequest) + method.size() + path.size() + query.size() +
           content_type.size() + body.size() + id.scope.size() + key_name.size() + client.size() +
           credentials.size();
  }
};

// What the upstream did with a request that was observed.
struct ObservedOutcome {
  ObservedKey id;
  Owner owner;
  BootTime at;
  Outcome outcome;
};

using Observation = std::variant<ObservedRequest, ObservedOutcome>;

}  // namespace pawl::observe
