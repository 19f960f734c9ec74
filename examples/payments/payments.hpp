// Payments as rows.
#pragma once

#include <optional>
#include <string>

#include "pawl/flow.hpp"
#include "payments/money.hpp"
#include "payments/states.hpp"

namespace pawl::payments {

struct Payment {
  std::string id;
  std::string owner;
  std::string customer;
  Money money;
  std::int64_t refunded = 0;
  Status status = Status::pending;
  std::string charge;  // the provider's id; empty before it has answered
  std::string client_key;
  std::int64_t created_us = 0;

  [[nodiscard]] Money left() const { return {money.amount - refunded, money.currency}; }
};

std::string to_json(const Payment& payment);

void insert(Database& database, const Payment& payment);
// Nothing where there is none, or where it is somebody else's.
std::optional<Payment> find(Database& database, const std::string& owner, const std::string& id);
// By the key it was asked for with: for whoever has lost the answer and may not ask again.
std::optional<Payment> find_by_key(Database& database, const std::string& owner,
                                   const std::string& client_key);
// For phases after the first: it is there.
Payment load(Database& database, const std::string& id);
// `payment` as it is now, in its new status. False, and nothing is written, where that is no valid
// transition, or where somebody else was quicker.
[[nodiscard]] bool save(Database& database, Payment payment, Status next);

// A page of them, oldest first, as JSON: `data`, `has_more`, `next`. Nothing: the cursor is none.
std::optional<std::string> page(Database& database, const std::string& owner,
                                const std::string& after, std::int64_t limit);

// When the request was accepted: the same in every try.
std::int64_t created_us(const Run& run);
// Who is calling: the scope without the library's own prefix.
std::string owner_of(const Run& run);

// The accounts of the ledger.
std::string customer_account(const Payment& payment);
std::string merchant_account(const Payment& payment);
inline const std::string holds_account = "holds";

// The id that the provider gave. Throws where there is none: the flow stops, and asks again.
std::string provider_id(const Response& answer);

// 201.
Response created(std::string body, const std::string& location);

}  // namespace pawl::payments
