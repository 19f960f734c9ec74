// A request that needs no record: forwarded and answered as the bytes come, nothing held back.
#pragma once

#include "src/adapters/http/session.hpp"
#include "src/adapters/http/upstream_pool.hpp"

namespace pawl::http {

// Looks on while a request passes, and changes nothing about it.
class PassWatch {
 public:
  virtual ~PassWatch() = default;
  // A piece of the request's body, about to be sent on.
  virtual void piece(std::string_view bytes) = 0;
  // All of it was read. The upstream has not answered yet, as far as anybody looked.
  virtual void whole() = 0;
  // What a guarded request would have been settled with: before the client has all of its answer,
  // as there, so that its next request is seen after this. Once more when everything is over.
  virtual void ended(const Outcome& outcome) = 0;
};

struct PassOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(30);  // of the whole exchange, restarted by every piece
  Duration idle_max = std::chrono::seconds(10);
  std::string_view pseudonym;
  std::string_view request_id;  // told to the upstream; empty: none
  std::string_view sender;      // as CallOptions::sender
  std::string_view forbidden;   // as in ForwardOptions, both
  std::string_view only_as_spelled;
  PassWatch* watch = nullptr;
};

// What became of it, for the log and the metrics.
struct Passed {
  int status = 0;  // as the client saw it; 0: it saw none
  Evidence evidence = Evidence::not_sent;
  // An answer without its body, and of its fields only Retry-After and Pawl-Outcome.
  Outcome outcome = NotSent{};
  std::optional<ProblemDetails> problem;  // not answered yet: the caller tells the client this
};

Task<Passed> pass_through(ClientRequest& request, UpstreamPool& pool, PassOptions options);

}  // namespace pawl::http
