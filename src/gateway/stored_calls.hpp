// Requests that async routes have accepted, sent to the upstream over HTTP.
#pragma once

#include <memory>

#include "src/adapters/http/upstream_call.hpp"
#include "src/gateway/gateway.hpp"
#include "src/workers/async_worker.hpp"

namespace pawl::gateway {

// Of one thread: that of the connections.
class HttpStoredCalls final : public workers::StoredCalls {
 public:
  HttpStoredCalls(NodeServices& shared, http::UpstreamPool& upstream)
      : shared_(shared), upstream_(upstream) {}

  [[nodiscard]] SettleOptions settle_options(const Record& record) const override;
  std::unique_ptr<workers::StoredCall> call_for(const Record& record) override;

 private:
  // By the configuration in force, which it keeps.
  [[nodiscard]] std::shared_ptr<const config::RoutePolicy> policy_of(const Record& record) const;

  NodeServices& shared_;
  http::UpstreamPool& upstream_;
};

}  // namespace pawl::gateway
