// The boundary around a handler: request in, response out, and the handler does not know that
// idempotency exists.
//
//   pawl::Middleware payments(node, {.name = "payments"}, [](const pawl::HttpRequest& request) {
//     return pawl::Response{201, {}, charge(request.body)};
//   });
//   pawl::Response answer = payments.handle(caller, request);
//
// A handler that returns is settled by its status, as the design says of an upstream's answer. A
// handler that throws may have acted, so that counts as a 500 and the policy's `on_server_error`
// decides; NotStarted says that it has not.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pawl/http_request.hpp"
#include "pawl/node.hpp"
#include "pawl/types/fingerprint.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/policy.hpp"

namespace pawl {

struct Route {
  std::string name;  // kept with each record; letters, digits, '-', '_' and '.'
  Policy policy = {};
  FingerprintSecrets secrets = {};
  Duration wait_limit = std::chrono::seconds(10);  // where policy.in_flight is `wait`
};

// Thrown by a handler that has done nothing yet and could not begin: the key may run again.
class NotStarted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
struct Granted;
struct RouteRules;
}  // namespace detail

class Middleware {
 public:
  using Handler = std::function<Response(const HttpRequest&)>;

  // Throws std::invalid_argument where the policy asks for what only a gateway (mode) or a Flow
  // (transactional, resume) can do. `handler` may be left out where only `begin` is used.
  Middleware(Node node, Route route, Handler handler = {});
  Middleware(const Middleware&) = delete;
  Middleware& operator=(const Middleware&) = delete;
  ~Middleware();

  // Any thread; blocks until there is an answer that may be given. `caller` is who was
  // authenticated, and never comes from the body: keys are looked up within it. POST and PATCH are
  // guarded, other methods go to the handler as they are.
  Response handle(std::string_view caller, const HttpRequest& request);

  // The same in two steps, for servers that must not block. `begun` and `finished` are called on
  // the node's own thread and must return soon. pawl/async.hpp makes coroutines of this.
  struct Answer {  // there is nothing to execute: give this
    Response response;
  };
  struct Unguarded {};  // no key is needed: execute, and give what comes out
  struct Go {           // execute once, then `finish`, whatever happens
    std::shared_ptr<detail::Granted> granted;
  };
  using Begun = std::variant<Answer, Unguarded, Go>;
  void begin(std::string caller, HttpRequest request, std::function<void(Begun)> begun);
  void finish(Go attempt, Outcome outcome, std::function<void(Response)> finished);
  // What an exception that left the handler means. Call it in a catch block.
  [[nodiscard]] Outcome outcome_of_current_exception() const;

 private:
  Node node_;
  std::unique_ptr<const detail::RouteRules> rules_;
  Handler handler_;
};

}  // namespace pawl
