#include "payments/ledger.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "common/json.hpp"
#include "payments/crash.hpp"

namespace pawl::payments {
namespace {

void demand_balance(const Posting& posting) {
  std::map<std::string, std::int64_t> sums;
  for (const Entry& entry : posting.entries) sums[entry.money.currency] += entry.money.amount;
  const bool balanced = std::ranges::all_of(sums, [](const auto& sum) { return sum.second == 0; });
  if (!balanced || posting.entries.empty()) {
    throw std::logic_error("the entries of a " + posting.kind + " do not sum to zero");
  }
}

// Rows of (name, currency, number) as a JSON list.
std::string to_list(const Rows& rows, std::string_view name, std::string_view number) {
  std::string list;
  for (const Row& row : rows) {
    example::JsonObject item;
    item.text(name, row[0].value()).text("currency", row[1].value()).raw(number, row[2].value());
    list.append(list.empty() ? "" : ",").append(item.done());
  }
  return "[" + list + "]";
}

}  // namespace

void post(Database& database, const Posting& posting) {
  demand_balance(posting);
  database.execute("INSERT INTO postings (id, kind, subject, created_us) VALUES ($1, $2, $3, $4)",
                   {posting.id, posting.kind, posting.subject, posting.created_us});
  crash_point("ledger:posted-" + posting.kind);
  for (const Entry& entry : posting.entries) {
    database.execute(
        "INSERT INTO entries (posting, account, currency, amount) VALUES ($1, $2, $3, $4)",
        {posting.id, entry.account, entry.money.currency, entry.money.amount});
  }
}

std::vector<Entry> moved(const Money& money, const std::string& from, const std::string& to) {
  return {{from, Money{-money.amount, money.currency}}, {to, money}};
}

std::string ledger_document(Database& database) {
  const Rows balances = database.query(
      "SELECT account, currency, CAST(sum(amount) AS BIGINT) FROM entries GROUP BY account,"
      " currency ORDER BY account, currency");
  const Rows totals = database.query(
      "SELECT kind, currency, CAST(sum(amount) AS BIGINT) FROM entries JOIN postings ON posting = "
      "id"
      " WHERE amount > 0 GROUP BY kind, currency ORDER BY kind, currency");
  const Rows unbalanced = database.query(
      "SELECT count(*) FROM (SELECT 1 FROM entries GROUP BY posting, currency"
      " HAVING sum(amount) <> 0) AS wrong");
  example::JsonObject document;
  return document.raw("balances", to_list(balances, "account", "balance"))
      .raw("totals", to_list(totals, "kind", "amount"))
      .raw("unbalanced", unbalanced.at(0).at(0).value())
      .done();
}

}  // namespace pawl::payments
