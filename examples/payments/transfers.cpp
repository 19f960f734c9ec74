// Transfers: one local phase, and under it the last net.
#include "common/json.hpp"
#include "common/request.hpp"
#include "payments/crash.hpp"
#include "payments/flows.hpp"
#include "payments/ledger.hpp"
#include "payments/payments.hpp"
#include "payments/problem.hpp"

namespace pawl::payments {
namespace {

constexpr std::int64_t minute_us = 60'000'000;

struct Transfer {
  std::string id;
  std::string user;
  Money source;
  Money target;
  std::int64_t created_us = 0;
};

// False: the same one was made within this minute. Neither the guard above nor the key is asked.
bool insert(Database& database, const Transfer& transfer) {
  const Rows written = database.query(
      "INSERT INTO transfers (id, user_id, source_currency, target_currency, amount, target_amount,"
      " status, created_us, minute_bucket) VALUES ($1, $2, $3, $4, $5, $6, 'completed', $7, $8)"
      " ON CONFLICT DO NOTHING RETURNING id",
      {transfer.id, transfer.user, transfer.source.currency, transfer.target.currency,
       transfer.source.amount, transfer.target.amount, transfer.created_us,
       transfer.created_us / minute_us});
  crash_point("transfer:inserted");
  return !written.empty();
}

// The user's money goes to the desk in one currency and comes back in the other: four entries, and
// each currency sums to zero.
std::vector<Entry> exchanged(const Transfer& transfer) {
  std::vector<Entry> entries = moved(transfer.source, "wallet:" + transfer.user, "exchange");
  const std::vector<Entry> back = moved(transfer.target, "exchange", "wallet:" + transfer.user);
  entries.insert(entries.end(), back.begin(), back.end());
  return entries;
}

Next transfer(Transaction& tx, const Run& run) {
  Fields fields(run.request.body);
  Transfer wanted;
  wanted.id = "tr_" + run.id("transfer");
  wanted.user = owner_of(run);
  wanted.source = Money{fields.amount("amount"), fields.currency("source_currency")};
  const std::string currency = fields.currency("target_currency");
  wanted.created_us = created_us(run);
  fields.allow_only({"amount", "source_currency", "target_currency"});
  if (!fields.good()) return respond(fields.refusal());
  wanted.target = converted(wanted.source, currency);
  if (currency == wanted.source.currency || wanted.target.amount == 0) {
    return respond(problem(422, "nothing-to-exchange",
                           "This would exchange nothing: choose another currency or amount."));
  }
  if (!insert(tx, wanted)) {
    return respond(problem(409, "duplicate-transfer",
                           "You have made the same transfer within this minute. If you mean it, "
                           "wait for the next one."));
  }
  post(tx, {.id = run.id("posting"),
            .kind = "transfer",
            .subject = wanted.id,
            .created_us = wanted.created_us,
            .entries = exchanged(wanted)});
  example::JsonObject body;
  body.text("id", wanted.id).text("status", "completed");
  body.number("amount", wanted.source.amount).text("source_currency", wanted.source.currency);
  body.number("target_amount", wanted.target.amount).text("target_currency", currency);
  body.number("created_us", wanted.created_us);
  return respond(example::json_answer(201, body.done()));
}

}  // namespace

void declare_transfer(Flow& flow) { flow.local("transfer", transfer); }

}  // namespace pawl::payments
