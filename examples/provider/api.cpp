#include "examples/provider/api.hpp"

#include <signal.h>

#include <algorithm>

#include "examples/common/client.hpp"
#include "examples/common/request.hpp"
#include "pawl/types/key.hpp"
#include "src/core/json_writer.hpp"

namespace pawl::provider {
namespace {

using example::json_answer;
using example::string_of;
using example::whole_number;

constexpr std::size_t body_bytes_max = std::size_t{64} << 10;
constexpr std::int64_t amount_max = 1'000'000'000'000;
constexpr std::int64_t page_rows_max = 1000;
constexpr std::size_t text_bytes_max = 255;

Response bad_request(const std::string& message) {
  return problem(400, "invalid_request_error", "parameter_invalid", message);
}

Response not_found(std::string_view what) {
  return problem(404, "invalid_request_error", "resource_missing", what);
}

// As a kill -9 from outside.
[[noreturn]] void die() {
  ::raise(SIGKILL);
  std::abort();
}

// Empty where none was sent.
Expected<std::string, Response> key_in(const http::RequestHead& head) {
  std::vector<std::string_view> lines;
  for (const http::Field& field : head.fields) {
    if (same_field_name(field.name, "Idempotency-Key")) lines.push_back(field.value);
  }
  if (lines.empty()) return std::string();
  KeyRules rules;
  rules.length_min = 1;
  rules.refuse_pii = false;
  Expected<Key, KeyRefusal> key = parse_key(lines, rules);
  if (!key) return Unexpected{bad_request(explain(key.error(), rules))};
  return key->text;
}

bool is_amount(const std::optional<std::int64_t>& amount) {
  return amount && *amount > 0 && *amount <= amount_max;
}

Expected<Charge, Response> charge_in(const json::Value& body) {
  Charge charge;
  const auto amount = whole_number(body.find("amount"));
  if (!is_amount(amount)) {
    return Unexpected{bad_request("amount is a whole number of minor units, 1 to 10^12")};
  }
  charge.amount = *amount;
  charge.currency = string_of(body.find("currency")).value_or("");
  if (!example::is_currency(charge.currency)) {
    return Unexpected{bad_request("currency is three capital letters, as EUR")};
  }
  charge.customer = string_of(body.find("customer")).value_or("");
  charge.reference = string_of(body.find("reference")).value_or("");
  if (std::max(charge.customer.size(), charge.reference.size()) > text_bytes_max) {
    return Unexpected{bad_request("customer and reference have at most 255 bytes")};
  }
  return charge;
}

Expected<Refund, Response> refund_in(const json::Value& body) {
  Refund refund;
  refund.charge = string_of(body.find("charge")).value_or("");
  refund.amount = whole_number(body.find("amount"));
  if (refund.charge.empty()) return Unexpected{bad_request("charge is the id of a charge")};
  if (body.find("amount") != nullptr && !is_amount(refund.amount)) {
    return Unexpected{bad_request("amount is a whole number of minor units, 1 to 10^12")};
  }
  return refund;
}

std::string parameters_of(const Charge& charge) {
  JsonObject out;
  out.number("charge", charge.amount).text("currency", charge.currency);
  return out.text("customer", charge.customer).text("reference", charge.reference).done();
}

std::string parameters_of(const Refund& refund) {
  JsonObject out;
  return out.text("refund", refund.charge).number("amount", refund.amount.value_or(0)).done();
}

}  // namespace

Task<void> Api::handle(http::ClientRequest& request) {
  pawl::Charge uncounted;  // there is no budget here
  Expected<std::string, http::BodyTrouble> body =
      co_await request.read_body(body_bytes_max, uncounted);
  if (!body) {
    const std::optional<http::Refusal> refusal = http::refusal_of(body.error());
    if (refusal) {
      request.close_after();
      co_await request.answer(refused(*refusal));
    } else {
      request.fail();
    }
    co_return;
  }
  const std::string_view path = request.head.path;
  if (request.head.method == "POST" && (path == "/v1/charges" || path == "/v1/refunds")) {
    const Expected<Order, Response> order = read_order(request.head, *body);
    if (order) {
      co_await carry_out(request, *order);
    } else {
      co_await request.answer(order.error());
    }
    co_return;
  }
  const Response response = answer(request.head, *body);
  co_await request.answer(response);
}

Response Api::refused(const http::Refusal& refusal) {
  return problem(refusal.status.value_or(400), "invalid_request_error", slug_of(refusal.problem),
                 refusal.detail);
}

Expected<Api::Order, Response> Api::read_order(const http::RequestHead& head,
                                               const std::string& body) {
  Order order;
  Expected<std::string, Response> key = key_in(head);
  if (!key) return Unexpected{key.error()};
  order.once.key = *key;
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return Unexpected{bad_request("the body is no JSON: " + document.error().what)};
  if (head.path == "/v1/charges") {
    Expected<Charge, Response> charge = charge_in(*document);
    if (!charge) return Unexpected{charge.error()};
    order.once.parameters = parameters_of(*charge);
    order.charge = std::move(*charge);
  } else {
    Expected<Refund, Response> refund = refund_in(*document);
    if (!refund) return Unexpected{refund.error()};
    order.once.parameters = parameters_of(*refund);
    order.refund = std::move(*refund);
  }
  return order;
}

// The one place where accidents happen.
Task<void> Api::carry_out(http::ClientRequest& request, const Order& order) {
  const Mishap mishap = faults_.next_mishap(order.once.key);
  const Duration delay = std::chrono::milliseconds(faults_.faults().delay_ms);
  if (mishap == Mishap::rate_limit) {
    Response response =
        problem(429, "rate_limit_error", "rate_limit", "Too many requests; nothing was charged.");
    response.headers.push_back({"Retry-After", "1"});
    co_await request.answer(response);
    co_return;
  }
  if (mishap == Mishap::error_before) {
    const Response response = problem(503, "api_error", "unavailable", "Try again later.");
    co_await request.answer(response);
    co_return;
  }
  if (mishap == Mishap::drop_before) {
    request.fail();
    co_return;
  }
  if (mishap == Mishap::crash_before) die();
  if (mishap == Mishap::delay_before) co_await clock_.sleep_until(clock_.now() + delay);

  const Response response = execute(order, mishap);

  if (mishap == Mishap::crash_after) die();
  if (mishap == Mishap::delay_after) co_await clock_.sleep_until(clock_.now() + delay);
  if (mishap == Mishap::drop_after) {
    request.fail();
    co_return;
  }
  if (mishap == Mishap::error_after) {
    const Response error = problem(500, "api_error", "internal", "Something went wrong.");
    co_await request.answer(error);
    co_return;
  }
  co_await request.answer(response);
}

Response Api::execute(const Order& order, Mishap mishap) {
  const Book::Hook before_commit = [mishap] {
    if (mishap == Mishap::crash_inside) die();
  };
  try {
    if (order.refund) return book_.refund(order.once, *order.refund, before_commit);
    return book_.charge(order.once, *order.charge, mishap == Mishap::decline, before_commit);
  } catch (const BookError& error) {
    return problem(500, "api_error", "storage", error.what());
  }
}

Response Api::answer(const http::RequestHead& head, const std::string& body) {
  const bool reads = head.method == "GET" || head.method == "HEAD";
  try {
    if (head.path == "/healthz") return json_answer(200, R"({"status":"ok"})");
    if (head.path == "/_faults") {
      if (head.method == "POST") return change_faults(body);
      if (head.method == "DELETE") faults_.clear();
      return json_answer(200, faults_.text());
    }
    if (head.path == "/_webhooks") {
      return head.method == "POST" ? change_endpoint(body) : json_answer(200, book_.deliveries());
    }
    if (reads && head.path == "/v1/ledger") return json_answer(200, book_.ledger());
    if (reads) return look_up(head);
  } catch (const BookError& error) {
    return problem(500, "api_error", "storage", error.what());
  }
  return not_found("There is nothing at this path with this method.");
}

Response Api::look_up(const http::RequestHead& head) {
  const std::string name = "lookup/" + std::to_string(++lookups_);
  if (faults_.strikes(faults_.faults().lookup_error, name)) {
    return problem(503, "api_error", "unavailable", "Try again later.");
  }
  const auto found = [](const std::optional<std::string>& object) {
    return object ? json_answer(200, *object) : not_found("There is no such object.");
  };
  constexpr std::string_view charges = "/v1/charges";
  constexpr std::string_view refunds = "/v1/refunds";
  const std::string path(head.path);
  const auto key = example::parameter(head.query, "idempotency_key");
  if (path.starts_with("/v1/charges/")) return found(book_.charge_by_id(path.substr(12)));
  if (path.starts_with("/v1/refunds/")) return found(book_.refund_by_id(path.substr(12)));
  if (path == refunds && key) return found(book_.refund_by_key(*key));
  if (path == charges && key) return found(book_.charge_by_key(*key));
  if (path != charges) return not_found("There is nothing at this path.");

  const std::string after = example::parameter(head.query, "after").value_or("ch_0");
  const std::string limit = example::parameter(head.query, "limit").value_or("100");
  const auto cursor = id_number("ch_", after);
  const auto rows = example::to_number(limit);
  if (!cursor) return bad_request("after is the id of a charge");
  if (!rows || *rows < 1 || *rows > page_rows_max) return bad_request("limit is 1 to 1000");
  return json_answer(200, book_.list(*cursor, *rows));
}

Response Api::change_faults(const std::string& body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return bad_request("the body is no JSON: " + document.error().what);
  const Expected<Done, std::string> changed = faults_.change(*document);
  return changed ? json_answer(200, faults_.text()) : bad_request(changed.error());
}

Response Api::change_endpoint(const std::string& body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return bad_request("the body is no JSON: " + document.error().what);
  const std::string url = string_of(document->find("url")).value_or("");
  const std::string secret = string_of(document->find("secret")).value_or("");
  const auto parsed = example::parse_url(url);
  if (!parsed) return bad_request(parsed.error());
  if (secret.empty()) return bad_request("secret is what events are signed with");
  book_.set_endpoint(Endpoint{url, secret});
  return json_answer(200, book_.deliveries());
}

}  // namespace pawl::provider
