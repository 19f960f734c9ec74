// The operator's listener: is it alive, is it ready, what does it count; and an order to read the
// configuration again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/http/session.hpp"

namespace pawl::gateway {

// Why a node is not ready: what everybody may know, and what is for operators alone. The latter may
// name hosts, roles and files.
struct NotReady {
  std::string what;
  std::string detail = {};
};

struct AdminSources {
  std::function<std::vector<NotReady>()> not_ready;  // empty: ready
  std::function<std::string()> metrics;
  std::function<std::string()> token;           // empty: none is asked for
  std::function<std::string()> reload_trouble;  // why the last reload failed; empty: it did not
  std::function<Task<Expected<Done, std::string>>()> reload;
};

class Admin final : public http::Handler {
 public:
  explicit Admin(AdminSources sources) : sources_(std::move(sources)) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal, std::string_view client) override;
  Response over_limit(http::ConnectionLimit limit, std::string_view client,
                      const http::RequestHead* head) override;

 private:
  [[nodiscard]] bool may_read(const http::RequestHead& head) const;
  [[nodiscard]] bool has_token(const http::RequestHead& head) const;
  [[nodiscard]] Response answer_to(const http::RequestHead& head) const;
  Task<Response> reload(const http::RequestHead& head);

  AdminSources sources_;
};

}  // namespace pawl::gateway
