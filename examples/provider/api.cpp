#include "provider/api.hpp"

#include <signal.h>

#include <algorithm>

#include "common/address.hpp"
#include "common/json.hpp"
#include "common/request.hpp"
#include "common/sleep.hpp"
#include "pawl/types/key.hpp"

namespace pawl::provider {
namespace {

namespace net = boost::asio;
using example::json_answer;
using example::string_of;
using example::whole_number;

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
Expected<std::string, Response> key_in(const HttpRequest& request) {
  std::vector<std::string_view> lines;
  for (const Header& header : request.headers) {
    if (same_field_name(header.name, "Idempotency-Key")) lines.push_back(header.value);
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
  example::JsonObject out;
  out.number("charge", charge.amount).text("currency", charge.currency);
  return out.text("customer", charge.customer).text("reference", charge.reference).done();
}

std::string parameters_of(const Refund& refund) {
  example::JsonObject out;
  return out.text("refund", refund.charge).number("amount", refund.amount.value_or(0)).done();
}

}  // namespace

net::awaitable<std::optional<Response>> Api::handle(HttpRequest request) {
  const std::string_view path = example::split_target(request.target).path;
  const bool moves_money = path == "/v1/charges" || path == "/v1/refunds";
  if (request.method != "POST" || !moves_money) co_return answer(request);
  Expected<Order, Response> order = read_order(request);
  if (!order) co_return order.error();
  co_return co_await carry_out(std::move(*order));
}

Response Api::refuse(int status, const std::string& type, const std::string& detail) {
  return problem(status, "invalid_request_error", type, detail);
}

Expected<Api::Order, Response> Api::read_order(const HttpRequest& request) {
  Order order;
  Expected<std::string, Response> key = key_in(request);
  if (!key) return Unexpected{key.error()};
  order.once.key = *key;
  const Expected<json::Value, json::Error> document = json::read(request.body);
  if (!document) return Unexpected{bad_request("the body is no JSON: " + document.error().what)};
  if (example::split_target(request.target).path == "/v1/charges") {
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

// The one place where accidents happen. No answer: the connection is cut.
net::awaitable<std::optional<Response>> Api::carry_out(Order order) {
  const Mishap mishap = faults_.next_mishap(order.once.key);
  const std::chrono::milliseconds delay(faults_.faults().delay_ms);
  if (mishap == Mishap::rate_limit) {
    Response response =
        problem(429, "rate_limit_error", "rate_limit", "Too many requests; nothing was charged.");
    response.headers.push_back({"Retry-After", "1"});
    co_return response;
  }
  if (mishap == Mishap::error_before) {
    co_return problem(503, "api_error", "unavailable", "Try again later.");
  }
  if (mishap == Mishap::drop_before) co_return std::nullopt;
  if (mishap == Mishap::crash_before) die();
  if (mishap == Mishap::delay_before) co_await example::sleep_for(delay);

  const Response response = execute(order, mishap);

  if (mishap == Mishap::crash_after) die();
  if (mishap == Mishap::delay_after) co_await example::sleep_for(delay);
  if (mishap == Mishap::drop_after) co_return std::nullopt;
  if (mishap == Mishap::error_after) {
    co_return problem(500, "api_error", "internal", "Something went wrong.");
  }
  co_return response;
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

Response Api::answer(const HttpRequest& request) {
  const std::string& method = request.method;
  const std::string_view path = example::split_target(request.target).path;
  const bool reads = method == "GET" || method == "HEAD";
  try {
    if (path == "/healthz") return json_answer(200, R"({"status":"ok"})");
    if (path == "/_faults") {
      if (method == "POST") return change_faults(request.body);
      if (method == "DELETE") faults_.clear();
      return json_answer(200, faults_.text());
    }
    if (path == "/_webhooks") {
      return method == "POST" ? change_endpoint(request.body)
                              : json_answer(200, book_.deliveries());
    }
    if (reads && path == "/v1/ledger") return json_answer(200, book_.ledger());
    if (reads) return look_up(request.target);
  } catch (const BookError& error) {
    return problem(500, "api_error", "storage", error.what());
  }
  return not_found("There is nothing at this path with this method.");
}

Response Api::look_up(std::string_view target) {
  const std::string name = "lookup/" + std::to_string(++lookups_);
  if (faults_.strikes(faults_.faults().lookup_error, name)) {
    return problem(503, "api_error", "unavailable", "Try again later.");
  }
  const auto found = [](const std::optional<std::string>& object) {
    return object ? json_answer(200, *object) : not_found("There is no such object.");
  };
  constexpr std::string_view charges = "/v1/charges";
  constexpr std::string_view refunds = "/v1/refunds";
  const std::string path(example::split_target(target).path);
  const std::string_view query = example::split_target(target).query;
  const auto key = example::parameter(query, "idempotency_key");
  if (path.starts_with("/v1/charges/")) return found(book_.charge_by_id(path.substr(12)));
  if (path.starts_with("/v1/refunds/")) return found(book_.refund_by_id(path.substr(12)));
  if (path == refunds && key) return found(book_.refund_by_key(*key));
  if (path == charges && key) return found(book_.charge_by_key(*key));
  if (path != charges) return not_found("There is nothing at this path.");

  const std::string after = example::parameter(query, "after").value_or("ch_0");
  const std::string limit = example::parameter(query, "limit").value_or("100");
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
