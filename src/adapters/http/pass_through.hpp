// A request that needs no record: forwarded and answered as the bytes come, nothing held back.
#pragma once

#include "src/adapters/http/session.hpp"
#include "src/adapters/http/upstream_pool.hpp"

namespace pawl::http {

struct PassOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(30);  // of the whole exchange, restarted by every piece
  Duration idle_max = std::chrono::seconds(10);
  std::string_view pseudonym;
};

// What became of it, for the log and the metrics.
struct Passed {
  int status = 0;  // as the client saw it; 0: it saw none
  Evidence evidence = Evidence::not_sent;
  std::optional<ProblemDetails> problem;  // not answered yet: the caller tells the client this
};

Task<Passed> pass_through(ClientRequest& request, UpstreamPool& pool, PassOptions options);

}  // namespace pawl::http
