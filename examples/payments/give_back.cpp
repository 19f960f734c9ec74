// Refund and cancel: both give money back, the second all of it and for good.
#include <stdexcept>

#include "common/json.hpp"
#include "common/request.hpp"
#include "payments/flows.hpp"
#include "payments/ledger.hpp"
#include "payments/payments.hpp"
#include "payments/problem.hpp"

namespace pawl::payments {
namespace {

enum class Kind { refund, cancel };

constexpr Status during(Kind kind) {
  return kind == Kind::refund ? Status::refunding : Status::cancelling;
}

// What the payment is once the money has gone back.
Status after(Kind kind, const Payment& payment) {
  if (kind == Kind::cancel) return Status::cancelled;
  return payment.left().amount == 0 ? Status::refunded : Status::captured;
}

// "/v1/payments/ID/refunds"
std::string payment_id(const Run& run) {
  constexpr std::string_view prefix = "/v1/payments/";
  const std::string& target = run.request.target;
  return target.substr(prefix.size(), target.find('/', prefix.size()) - prefix.size());
}

Response conflict(const Payment& payment, Kind kind) {
  return problem(409, "invalid-transition",
                 "The payment is " + std::string(pawl::to_text(payment.status)) +
                     ": it cannot be " + (kind == Kind::refund ? "refunded" : "cancelled") + ".");
}

// Local: nobody else may give this money back from here on.
Next claim(Transaction& tx, const Run& run, Kind kind) {
  const std::optional<Payment> payment = find(tx, owner_of(run), payment_id(run));
  if (!payment) return respond(problem(404, "not-found", "There is no such payment."));
  std::int64_t amount = payment->left().amount;
  if (kind == Kind::refund) {
    Fields fields(run.request.body);
    fields.allow_only({"amount"});
    if (fields.has("amount")) amount = fields.amount("amount");
    if (!fields.good()) return respond(fields.refusal());
  }
  // Whatever a phase responds is committed with what it wrote: so all questions come first.
  if (!may_become(payment->status, during(kind))) return respond(conflict(*payment, kind));
  if (amount > payment->left().amount) {
    return respond(problem(422, "amount-too-large",
                           "Only " + to_text(payment->left()) + " of this payment are left."));
  }
  if (!save(tx, *payment, during(kind))) return respond(conflict(load(tx, payment->id), kind));
  tx.execute(
      "INSERT INTO refunds (id, payment, amount, status, created_us)"
      " VALUES ($1, $2, $3, 'pending', $4)",
      {"ref_" + run.id("refund"), payment->id, amount, created_us(run)});
  return advance("refund")
      .with("payment", payment->id)
      .with("charge", payment->charge)
      .with("amount", std::to_string(amount));
}

// Foreign.
Outbound refund(const Run& run) {
  example::JsonObject body;
  body.text("charge", run.get("charge")).raw("amount", run.get("amount"));
  return Outbound{.method = "POST",
                  .path = "/v1/refunds",
                  .headers = {{"Content-Type", "application/json"}},
                  .body = body.done()};
}

void end_refund(Transaction& tx, const Run& run, const std::string& status,
                const std::string& provider_id) {
  tx.execute("UPDATE refunds SET status = $2, refund = $3 WHERE id = $1",
             {"ref_" + run.id("refund"), status, provider_id});
}

Next refunded(Transaction& tx, const Run& run, const Response& answer) {
  const Payment payment = load(tx, run.get("payment"));
  if (answer.status / 100 == 2) {
    return advance("settle").with("refund", provider_id(answer));
  }
  if (!save(tx, payment, Status::captured)) throw std::logic_error(payment.id + " has moved on");
  end_refund(tx, run, "failed", "");
  return respond(problem(422, "refund-refused", "The provider refused. Nothing was given back."));
}

// Local: the money has gone back.
Next settle(Transaction& tx, const Run& run, Kind kind) {
  Payment payment = load(tx, run.get("payment"));
  const Money money{example::to_number(run.get("amount")).value(), payment.money.currency};
  payment.refunded += money.amount;
  const Status next = after(kind, payment);
  if (!save(tx, payment, next)) throw std::logic_error(payment.id + " has moved on");
  payment.status = next;
  end_refund(tx, run, "succeeded", run.get("refund"));
  post(tx, {.id = run.id("give-back"),
            .kind = "refund",
            .subject = payment.id,
            .created_us = created_us(run),
            .entries = moved(money, merchant_account(payment), customer_account(payment))});
  if (kind == Kind::cancel) return respond(example::json_answer(200, to_json(payment)));
  example::JsonObject body;
  body.text("id", "ref_" + run.id("refund")).text("status", "succeeded");
  body.number("amount", money.amount).text("currency", money.currency);
  body.raw("payment", to_json(payment));
  return respond(created(body.done(), "/v1/payments/" + payment.id));
}

void declare(Flow& flow, const Destination& provider, Kind kind) {
  flow.local("claim", [kind](Transaction& tx, const Run& run) { return claim(tx, run, kind); });
  flow.foreign("refund", provider, refund, refunded);
  flow.local("settle", [kind](Transaction& tx, const Run& run) { return settle(tx, run, kind); });
}

}  // namespace

void declare_refund(Flow& flow, const Destination& provider) {
  declare(flow, provider, Kind::refund);
}

void declare_cancel(Flow& flow, const Destination& provider) {
  declare(flow, provider, Kind::cancel);
}

}  // namespace pawl::payments
