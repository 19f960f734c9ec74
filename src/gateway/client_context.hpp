// One request of a client on its way through the gateway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/boundary/request_context.hpp"
#include "src/gateway/gateway.hpp"

namespace pawl::gateway {

struct Gateway::ClientContext final : RequestContext {
  // `matched`: of `config`.
  ClientContext(http::ClientRequest& incoming, SharedConfig config, const config::Route& matched,
                BootTime now, MemoryBudget& memory);

  [[nodiscard]] bool client_is_gone() override { return request.stream().is_gone(); }
  [[nodiscard]] bool is_stored() const override { return policy.mode == Mode::async; }
  [[nodiscard]] std::optional<StoredRequest> to_store() const override;
  void name_host(const std::vector<std::string>& hosts);
  // What its caller is known by.
  [[nodiscard]] callers::ClientView view() const {
    return {request.head, request.peer, request.certificate ? &*request.certificate : nullptr};
  }

  http::ClientRequest& request;
  const SharedConfig served;  // from the head to the answer, whatever is in force by then
  const config::Route& route;
  BootTime arrived_at;
  LogLine line;
  Duration upstream_took{0};
  std::string key_in_body;  // as it stands there
  // The body of an answer that is too large to hold, once it may be delivered.
  std::shared_ptr<const http::Spool> spool;
};

}  // namespace pawl::gateway
