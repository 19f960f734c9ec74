#include "payments/payments.hpp"

#include <stdexcept>

#include "common/json.hpp"
#include "common/request.hpp"
#include "payments/crash.hpp"

namespace pawl::payments {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): literals are joined at compile time
#define SELECT_PAYMENT                                                                             \
  "SELECT id, owner, customer, amount, currency, refunded, status, charge, client_key, created_us" \
  " FROM payments "

std::int64_t number(const std::optional<std::string>& column) {
  return example::to_number(column.value()).value();
}

Payment payment_in(const Row& row) {
  Payment payment;
  payment.id = row[0].value();
  payment.owner = row[1].value();
  payment.customer = row[2].value();
  payment.money = Money{number(row[3]), row[4].value()};
  payment.refunded = number(row[5]);
  payment.status = from_text<Status>(row[6].value()).value();
  payment.charge = row[7].value_or("");
  payment.client_key = row[8].value();
  payment.created_us = number(row[9]);
  return payment;
}

// Where a page begins: behind this payment.
struct Cursor {
  std::int64_t created_us = 0;
  std::string id;
};

std::string to_text(const Cursor& cursor) {
  return std::to_string(cursor.created_us) + "-" + cursor.id;
}

std::optional<Cursor> cursor_in(const std::string& text) {
  if (text.empty()) return Cursor{};
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto time = example::to_number(std::string_view(text).substr(0, dash));
  if (!time) return std::nullopt;
  return Cursor{*time, text.substr(dash + 1)};
}

}  // namespace

std::string to_json(const Payment& payment) {
  example::JsonObject out;
  out.text("id", payment.id)
      .text("status", pawl::to_text(payment.status))
      .text("customer", payment.customer)
      .number("amount", payment.money.amount)
      .text("currency", payment.money.currency)
      .number("exponent", exponent_of(payment.money.currency).value_or(0))
      .number("refunded", payment.refunded);
  if (!payment.charge.empty()) out.text("charge", payment.charge);
  return out.number("created_us", payment.created_us).done();
}

void insert(Database& database, const Payment& payment) {
  database.execute(
      "INSERT INTO payments (id, owner, customer, amount, currency, status, client_key, created_us)"
      " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      {payment.id, payment.owner, payment.customer, payment.money.amount, payment.money.currency,
       std::string(pawl::to_text(payment.status)), payment.client_key, payment.created_us});
  crash_point("payment:inserted");
}

std::optional<Payment> find(Database& database, const std::string& owner, const std::string& id) {
  const Rows rows = database.query(SELECT_PAYMENT "WHERE id = $1 AND owner = $2", {id, owner});
  if (rows.empty()) return std::nullopt;
  return payment_in(rows.front());
}

// The newest: a key may be used again once it has expired.
std::optional<Payment> find_by_key(Database& database, const std::string& owner,
                                   const std::string& client_key) {
  const Rows rows = database.query(
      SELECT_PAYMENT "WHERE owner = $1 AND client_key = $2 ORDER BY created_us DESC LIMIT 1",
      {owner, client_key});
  if (rows.empty()) return std::nullopt;
  return payment_in(rows.front());
}

Payment load(Database& database, const std::string& id) {
  const Rows rows = database.query(SELECT_PAYMENT "WHERE id = $1", {id});
  if (rows.empty()) throw std::runtime_error("the payment " + id + " has gone");
  return payment_in(rows.front());
}

bool save(Database& database, Payment payment, Status next) {
  if (!may_become(payment.status, next)) return false;
  const Rows changed = database.query(
      "UPDATE payments SET status = $1, refunded = $2, charge = $3 WHERE id = $4 AND status = $5"
      " RETURNING id",
      {std::string(pawl::to_text(next)), payment.refunded, payment.charge, payment.id,
       std::string(pawl::to_text(payment.status))});
  crash_point("payment:saved-as-" + std::string(pawl::to_text(next)));
  return !changed.empty();
}

std::optional<std::string> page(Database& database, const std::string& owner,
                                const std::string& after, std::int64_t limit) {
  const std::optional<Cursor> cursor = cursor_in(after);
  if (!cursor) return std::nullopt;
  // One more than asked for tells whether there are more.
  const Rows rows = database.query(
      SELECT_PAYMENT
      "WHERE owner = $1 AND (created_us, id) > ($2, $3) ORDER BY created_us, id LIMIT $4",
      {owner, cursor->created_us, cursor->id, limit + 1});
  const bool has_more = rows.size() > static_cast<std::size_t>(limit);
  std::string data;
  Cursor last;
  for (std::size_t i = 0; i < rows.size() - (has_more ? 1 : 0); ++i) {
    const Payment payment = payment_in(rows[i]);
    data.append(data.empty() ? "" : ",").append(to_json(payment));
    last = Cursor{payment.created_us, payment.id};
  }
  example::JsonObject out;
  out.raw("data", "[" + data + "]").flag("has_more", has_more);
  if (has_more) out.text("next", to_text(last));
  return out.done();
}

std::int64_t created_us(const Run& run) { return run.created_at.time_since_epoch().count(); }

std::string owner_of(const Run& run) {
  constexpr std::string_view prefix = "lib:";
  std::string scope = run.scope.text;
  if (scope.starts_with(prefix)) scope.erase(0, prefix.size());
  return scope;
}

std::string customer_account(const Payment& payment) { return "customer:" + payment.customer; }
std::string merchant_account(const Payment& payment) { return "merchant:" + payment.owner; }

std::string provider_id(const Response& answer) {
  const auto document = json::read(answer.body);
  const auto id = document ? example::string_of(document->find("id")) : std::nullopt;
  if (!id || id->empty()) throw std::runtime_error("the provider's answer has no id");
  return *id;
}

Response created(std::string body, const std::string& location) {
  Response response = example::json_answer(201, std::move(body));
  response.headers.push_back({"Location", location});
  return response;
}

}  // namespace pawl::payments
