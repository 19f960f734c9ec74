// The witness: how often money moved, and how much.
#include "common/json.hpp"
#include "provider/book.hpp"

namespace pawl::provider {
namespace {

std::int64_t number(Connection& connection, const char* sql) {
  Query query(connection, sql);
  query.row();
  return query.number(0);
}

}  // namespace

std::string Book::ledger() {
  Query sums(connection_,
             "SELECT currency, sum(max(amount, 0)), sum(max(-amount, 0)), sum(amount)"
             " FROM movements GROUP BY currency ORDER BY currency");
  std::string currencies;
  while (sums.row()) {
    example::JsonObject sum;
    sum.text("currency", sums.text(0)).number("charged", sums.number(1));
    sum.number("refunded", sums.number(2)).number("net", sums.number(3));
    currencies.append(currencies.empty() ? "" : ",").append(sum.done());
  }
  example::JsonObject document;
  const auto count = [&](std::string_view name, const char* sql) {
    document.number(name, number(connection_, sql));
  };
  count("charges", "SELECT count(*) FROM movements WHERE refund_id IS NULL");
  count("refunds", "SELECT count(*) FROM movements WHERE refund_id IS NOT NULL");
  count("declined", "SELECT count(*) FROM charges WHERE status = 'failed'");
  count("keys_charged_twice",
        "SELECT count(*) FROM (SELECT 1 FROM movements WHERE refund_id IS NULL"
        " AND idempotency_key IS NOT NULL GROUP BY idempotency_key HAVING count(*) > 1)");
  count("references_charged_twice",
        "SELECT count(*) FROM (SELECT 1 FROM movements WHERE refund_id IS NULL"
        " AND reference <> '' GROUP BY reference HAVING count(*) > 1)");
  return document.raw("sums", "[" + currencies + "]").done();
}

}  // namespace pawl::provider
