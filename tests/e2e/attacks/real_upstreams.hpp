// Services as people run them: Python's http.server and Node's http with a handler of a few lines,
// nginx and Apache in front of a service that reads HTTP strictly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::e2e {

// One POST that was carried out there.
struct Execution {
  std::string target;
  std::string who;  // its Authorization
  std::string key;
};

class RealUpstream {
 public:
  virtual ~RealUpstream() = default;
  [[nodiscard]] virtual std::string url() const = 0;
  [[nodiscard]] virtual std::vector<Execution> executed() const = 0;
};

// "Python", "Node", "Nginx" or "Apache".
std::unique_ptr<RealUpstream> start_upstream(const std::string& kind);

// The text of a member, in a document that has no escapes: "" where it is not there.
std::string text_in(const std::string& document, const std::string& member);

}  // namespace pawl::e2e
