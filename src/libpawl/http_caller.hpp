// A foreign phase's call over HTTP, on the node's thread.
#pragma once

#include "pawl/flow.hpp"
#include "src/adapters/http/upstream_pool.hpp"
#include "src/libpawl/node_core.hpp"

namespace pawl::detail {

class HttpCaller {
 public:
  HttpCaller(NodeCore& node, http::UpstreamAddress address)
      : node_(node), pool_(std::move(address), node.deadlines()) {}

  // Once. `gate` is asked with the connection open and not one byte written.
  Task<Outcome> send(SendGate& gate, const Record& held, const Call& call);

 private:
  NodeCore& node_;
  http::UpstreamPool pool_;
};

}  // namespace pawl::detail
