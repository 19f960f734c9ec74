// What this service does, as flows: each may die at any instruction and happens once.
#pragma once

#include "pawl/flow.hpp"

namespace pawl::payments {

// POST /v1/payments: hold the money, charge at the provider, capture. `receipts` names the outbox's
// destination that gets a receipt; empty: none is promised.
void declare_pay(Flow& flow, const Destination& provider, const std::string& receipts);

// POST /v1/payments/{id}/refunds: give some or all of it back.
void declare_refund(Flow& flow, const Destination& provider);

// POST /v1/payments/{id}/cancel: give all that is left back, and end it.
void declare_cancel(Flow& flow, const Destination& provider);

// POST /v1/transfers: one currency for another, in our own books only.
void declare_transfer(Flow& flow);

}  // namespace pawl::payments
