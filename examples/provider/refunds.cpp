// Refunds: money goes back, never more than came.
#include "common/json.hpp"
#include "common/request.hpp"
#include "provider/book.hpp"

namespace pawl::provider {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): literals are joined at compile time
#define SELECT_REFUND                                                                \
  "SELECT refunds.id, charge_id, refunds.amount, currency, refunds.idempotency_key," \
  " refunds.created_ms FROM refunds JOIN charges ON charges.id = charge_id "

std::string refund_json(const Query& row) {
  example::JsonObject refund;
  return refund.text("id", id_text("re_", row.number(0)))
      .text("object", "refund")
      .text("charge", id_text("ch_", row.number(1)))
      .number("amount", row.number(2))
      .text("currency", row.text(3))
      .text("status", "succeeded")
      .text("idempotency_key", row.text(4))
      .number("created_ms", row.number(5))
      .done();
}

}  // namespace

Response Book::refund(const Once& once, const Refund& refund, const Hook& before_commit) {
  const auto work = [&]() -> Response {
    Query charge(connection_,
                 "SELECT id, status, currency, reference, amount -"
                 " (SELECT coalesce(sum(amount), 0) FROM refunds WHERE charge_id = charges.id)"
                 " FROM charges WHERE id = ?");
    charge.with(id_number("ch_", refund.charge).value_or(0));
    if (!charge.row()) {
      return problem(404, "invalid_request_error", "resource_missing",
                     "There is no charge with this id.");
    }
    const std::int64_t left = charge.number(4);
    const std::int64_t amount = refund.amount.value_or(left);
    if (charge.text(1) != "succeeded" || amount > left || left == 0) {
      return problem(422, "invalid_request_error", "charge_not_refundable",
                     "Not so much of this charge is left to be refunded.");
    }
    const std::int64_t now = now_ms();
    Query insert(connection_,
                 "INSERT INTO refunds (charge_id, amount, idempotency_key, created_ms)"
                 " VALUES (?, ?, nullif(?, ''), ?) RETURNING id");
    insert.with(charge.number(0)).with(amount).with(once.key).with(now).row();
    const std::int64_t id = insert.number(0);
    insert.run();
    const std::string currency = charge.text(2);
    const std::string reference = charge.text(3);
    Query(connection_,
          "INSERT INTO movements (charge_id, refund_id, amount, currency, reference,"
          " idempotency_key, created_ms) VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?)")
        .with(charge.number(0))
        .with(id)
        .with(-amount)
        .with(currency)
        .with(reference)
        .with(once.key)
        .with(now)
        .run();
    Query made(connection_, SELECT_REFUND "WHERE refunds.id = ?");
    made.with(id).row();
    emit("charge.refunded", refund_json(made));
    return example::json_answer(201, refund_json(made));
  };
  return this->once(once, work, before_commit);
}

std::optional<std::string> Book::refund_by_id(const std::string& id) {
  Query query(connection_, SELECT_REFUND "WHERE refunds.id = ? AND refunds.created_ms <= ?");
  query.with(id_number("re_", id).value_or(0)).with(visible_until());
  if (!query.row()) return std::nullopt;
  return refund_json(query);
}

std::optional<std::string> Book::refund_by_key(const std::string& key) {
  Query query(connection_, SELECT_REFUND
              "WHERE refunds.idempotency_key = ? AND refunds.created_ms <= ?"
              " ORDER BY refunds.id LIMIT 1");
  if (!query.with(key).with(visible_until()).row()) return std::nullopt;
  return refund_json(query);
}

}  // namespace pawl::provider
