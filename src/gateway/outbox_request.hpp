// An outbox row as a request to its destination, signed.
#pragma once

#include <functional>
#include <string>

#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"
#include "src/core/outbox.hpp"

namespace pawl::gateway {

// "t=<unix seconds>,v1=<hex of the HMAC-SHA-256 of "t.body">": the receiver computes the same, and
// refuses what is too old.
std::string outbox_signature(std::string_view secret, Instant now, std::string_view body);

// Why the row cannot be written as a request; empty: it can. A row may have been stored by anybody.
std::string unsendable(const OutboxRow& row);

// The row must be sendable, and outlive this.
class OutboxRequest final : public http::RequestWriter {
 public:
  // `now` is asked when the request is written: the signature carries it.
  OutboxRequest(const OutboxRow& row, const config::Destination& destination,
                const std::string& host, std::function<Instant()> now)
      : row_(row), destination_(destination), host_(host), now_(std::move(now)) {}

  std::string head(const Record&) override;
  [[nodiscard]] std::string_view body() const override { return row_.body; }

 private:
  const OutboxRow& row_;
  const config::Destination& destination_;
  const std::string& host_;
  std::function<Instant()> now_;
};

}  // namespace pawl::gateway
