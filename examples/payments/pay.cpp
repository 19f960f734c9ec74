// The payment flow. If it dies between two lines of this file, the next one goes on at the last
// phase that committed, and the provider sees the same key again.
#include <stdexcept>

#include "common/json.hpp"
#include "payments/flows.hpp"
#include "payments/ledger.hpp"
#include "payments/payments.hpp"
#include "payments/problem.hpp"

namespace pawl::payments {
namespace {

Posting posting(const Run& run, const Payment& payment, const std::string& kind,
                const std::string& from, const std::string& to) {
  return Posting{.id = run.id(kind),
                 .kind = kind,
                 .subject = payment.id,
                 .created_us = created_us(run),
                 .entries = moved(payment.money, from, to)};
}

// Local: the payment, and the money it holds.
Next create(Transaction& tx, const Run& run) {
  Fields fields(run.request.body);
  Payment payment;
  payment.id = "pay_" + run.id("payment");
  payment.owner = owner_of(run);
  payment.customer = fields.text("customer");
  payment.money = Money{fields.amount("amount"), fields.currency("currency")};
  payment.client_key = run.key.text;
  payment.created_us = created_us(run);
  fields.allow_only({"customer", "amount", "currency"});
  if (!fields.good()) return respond(fields.refusal());
  insert(tx, payment);
  post(tx, posting(run, payment, "hold", customer_account(payment), holds_account));
  return advance("charge").with("payment", payment.id);
}

// Foreign: one call, under a key that the library derives from this request and this phase. Made of
// what the client sent and of nothing else, so that it is the same in every try.
Outbound charge(const Run& run) {
  Fields fields(run.request.body);
  example::JsonObject body;
  body.number("amount", fields.amount("amount")).text("currency", fields.currency("currency"));
  body.text("customer", fields.text("customer")).text("reference", run.get("payment"));
  return Outbound{.method = "POST",
                  .path = "/v1/charges",
                  .headers = {{"Content-Type", "application/json"}},
                  .body = body.done()};
}

// What the provider answered, in a transaction of its own. An answer that leaves it open whether
// the money moved never comes here.
Next charged(Transaction& tx, const Run& run, const Response& answer) {
  Payment payment = load(tx, run.get("payment"));
  if (answer.status / 100 == 2) {
    return advance("capture").with("charge", provider_id(answer));
  }
  if (!save(tx, payment, Status::failed)) throw std::logic_error(payment.id + " is not pending");
  post(tx, posting(run, payment, "release", holds_account, customer_account(payment)));
  return respond(problem(402, "payment-declined",
                         "The payment " + payment.id + " was declined. Nothing was charged."));
}

// Promised with the capture: it is there if and only if the money is. A worker sends it; who waits
// for the payment does not wait for that.
void promise_receipt(Transaction& tx, const Payment& payment, const std::string& receipts) {
  example::JsonObject body;
  body.text("event", "payment.captured").raw("payment", to_json(payment));
  tx.enqueue({.destination = receipts,
              .path = "/receipts",
              .headers = {{"Content-Type", "application/json"}},
              .body = body.done()});
}

// Local: the money is ours, and so is the answer.
Next capture(Transaction& tx, const Run& run, const std::string& receipts) {
  Payment payment = load(tx, run.get("payment"));
  payment.charge = run.get("charge");
  if (!save(tx, payment, Status::captured)) throw std::logic_error(payment.id + " is not pending");
  post(tx, posting(run, payment, "capture", holds_account, merchant_account(payment)));
  payment.status = Status::captured;
  if (!receipts.empty()) promise_receipt(tx, payment, receipts);
  return respond(created(to_json(payment), "/v1/payments/" + payment.id));
}

}  // namespace

void declare_pay(Flow& flow, const Destination& provider, const std::string& receipts) {
  flow.local("create", create);
  flow.foreign("charge", provider, charge, charged);
  flow.local("capture",
             [receipts](Transaction& tx, const Run& run) { return capture(tx, run, receipts); });
}

}  // namespace pawl::payments
