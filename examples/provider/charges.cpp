// Charges: made, looked up, listed.
#include "common/json.hpp"
#include "common/request.hpp"
#include "provider/book.hpp"

namespace pawl::provider {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): literals are joined at compile time
#define SELECT_CHARGE                                                                      \
  "SELECT id, amount, currency, customer, reference, status, idempotency_key, created_ms," \
  " (SELECT coalesce(sum(refunds.amount), 0) FROM refunds WHERE charge_id = charges.id)"   \
  " FROM charges "

std::string to_json(const Query& row, std::string_view status) {
  example::JsonObject charge;
  charge.text("id", id_text("ch_", row.number(0)))
      .text("object", "charge")
      .number("amount", row.number(1))
      .text("currency", row.text(2))
      .text("customer", row.text(3))
      .text("reference", row.text(4))
      .text("status", status);
  if (status == "failed") charge.text("failure_code", "card_declined");
  return charge.number("amount_refunded", row.number(8))
      .text("idempotency_key", row.text(6))
      .number("created_ms", row.number(7))
      .done();
}

std::string to_json(const Query& row) { return to_json(row, row.text(5)); }

}  // namespace

Response Book::charge(const Once& once, const Charge& charge, bool declined,
                      const Hook& before_commit) {
  const auto work = [&] {
    Query insert(connection_,
                 "INSERT INTO charges (amount, currency, customer, reference, status,"
                 " idempotency_key, created_ms) VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?)"
                 " RETURNING id");
    const std::int64_t now = now_ms();
    insert.with(charge.amount).with(charge.currency).with(charge.customer).with(charge.reference);
    insert.with(declined ? "failed" : "succeeded").with(once.key).with(now);
    insert.row();
    const std::int64_t id = insert.number(0);
    insert.run();
    if (!declined) {
      Query(connection_,
            "INSERT INTO movements (charge_id, amount, currency, reference, idempotency_key,"
            " created_ms) VALUES (?, ?, ?, ?, nullif(?, ''), ?)")
          .with(id)
          .with(charge.amount)
          .with(charge.currency)
          .with(charge.reference)
          .with(once.key)
          .with(now)
          .run();
    }
    Query made(connection_, SELECT_CHARGE "WHERE id = ?");
    made.with(id).row();
    emit("charge.pending", to_json(made, "pending"));
    emit(declined ? "charge.failed" : "charge.succeeded", to_json(made));
    return example::json_answer(declined ? 402 : 201, to_json(made));
  };
  return this->once(once, work, before_commit);
}

std::optional<std::string> Book::charge_by_id(const std::string& id) {
  Query query(connection_, SELECT_CHARGE "WHERE id = ? AND created_ms <= ?");
  query.with(id_number("ch_", id).value_or(0)).with(visible_until());
  if (!query.row()) return std::nullopt;
  return to_json(query);
}

// The first one: past the key window there may be more, and the ledger says so.
std::optional<std::string> Book::charge_by_key(const std::string& key) {
  Query query(connection_,
              SELECT_CHARGE "WHERE idempotency_key = ? AND created_ms <= ? ORDER BY id LIMIT 1");
  if (!query.with(key).with(visible_until()).row()) return std::nullopt;
  return to_json(query);
}

std::string Book::list(std::int64_t after, std::int64_t limit) {
  // One more than asked for tells whether there are more.
  Query query(connection_, SELECT_CHARGE "WHERE id > ? AND created_ms <= ? ORDER BY id LIMIT ?");
  query.with(after).with(visible_until()).with(limit + 1);
  std::string data;
  std::string last;
  std::int64_t count = 0;
  bool has_more = false;
  while (query.row()) {
    has_more = ++count > limit;
    if (has_more) break;
    data.append(data.empty() ? "" : ",").append(to_json(query));
    last = id_text("ch_", query.number(0));
  }
  example::JsonObject page;
  page.raw("data", "[" + data + "]").flag("has_more", has_more);
  if (has_more) page.text("next", last);
  return page.done();
}

}  // namespace pawl::provider
