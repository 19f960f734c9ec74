// The operator's listener: is it alive, is it ready, what does it count.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/adapters/http/session.hpp"

namespace pawl::gateway {

struct AdminSources {
  std::function<std::vector<std::string>()> not_ready;  // why; empty: ready
  std::function<std::string()> metrics;
  std::string token;  // empty: none is asked for
};

class Admin final : public http::Handler {
 public:
  explicit Admin(AdminSources sources) : sources_(std::move(sources)) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal) override;

 private:
  [[nodiscard]] bool may_read(const http::RequestHead& head) const;
  [[nodiscard]] Response answer_to(const http::RequestHead& head) const;

  AdminSources sources_;
};

}  // namespace pawl::gateway
