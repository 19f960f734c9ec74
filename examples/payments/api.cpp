#include "payments/api.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/request.hpp"
#include "pawl/async.hpp"
#include "payments/ledger.hpp"
#include "payments/payments.hpp"
#include "payments/problem.hpp"

namespace pawl::payments {
namespace {

namespace net = boost::asio;

constexpr std::int64_t page_rows_max = 500;
constexpr std::string_view payments_path = "/v1/payments";

// There are no passwords in this example: a token is its owner's name. Put your own check here, and
// nowhere else: keys and payments belong to whom this names.
std::optional<std::string> caller_in(const HttpRequest& request) {
  constexpr std::string_view scheme = "Bearer ";
  const auto value = find_header(request.headers, "Authorization");
  if (!value || !value->starts_with(scheme) || value->size() == scheme.size()) return std::nullopt;
  return std::string(value->substr(scheme.size()));
}

Response not_found() { return problem(404, "not-found", "There is nothing here."); }

// What is not finished can be asked for again, under the same key. We say so with 503 and nothing
// else: a proxy that keeps answers, such as Pawl's gateway, would keep a 409 for good, and takes a
// 504 for a sign that nobody knows.
Response as_unfinished(Response response) {
  const bool retried = find_header(response.headers, "Pawl-Should-Retry") == "true";
  if (!retried || (response.status != 409 && response.status != 504)) return response;
  Response later = problem(503, "not-finished",
                           "This request is still being worked on. Retry with the same key and "
                           "body, and do not use a new key.");
  later.headers.push_back({"Retry-After", "1"});
  later.headers.push_back({"Pawl-Should-Retry", "true"});
  return later;
}

Response found(const std::optional<Payment>& payment) {
  return payment ? example::json_answer(200, to_json(*payment)) : not_found();
}

Response list(Database& database, const std::string& caller, std::string_view query) {
  const auto limit = example::to_number(example::parameter(query, "limit").value_or("100"));
  std::optional<std::string> rows;
  if (limit && *limit >= 1 && *limit <= page_rows_max) {
    rows = page(database, caller, example::parameter(query, "after").value_or(""), *limit);
  }
  if (rows) return example::json_answer(200, *rows);
  return problem(400, "bad-request", "limit is 1 to 500, after is the `next` of a page.");
}

// Every GET.
Response read(Database& database, const std::string& caller, std::string_view target) {
  const auto [path, query] = example::split_target(target);
  if (path == "/v1/ledger") return example::json_answer(200, ledger_document(database));
  if (path.starts_with("/v1/payments/")) {
    return found(find(database, caller, std::string(path.substr(13))));
  }
  if (path != payments_path) return not_found();
  if (const auto key = example::parameter(query, "idempotency_key")) {
    return found(find_by_key(database, caller, *key));
  }
  return list(database, caller, query);
}

net::awaitable<Response> run_now(std::function<Response()> work) { co_return work(); }

}  // namespace

net::awaitable<std::optional<Response>> Api::handle(HttpRequest request) {
  if (example::split_target(request.target).path == "/healthz") {
    co_return example::json_answer(node_.trouble() ? 503 : 200, "{}");
  }
  std::optional<std::string> caller = caller_in(request);
  if (!caller) {
    Response response = problem(401, "unauthenticated", "Send Authorization: Bearer YOUR-NAME.");
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
    co_return response;
  }
  co_return co_await answer(std::move(*caller), std::move(request));
}

Response Api::refuse(int status, const std::string& type, const std::string& detail) {
  return problem(status, type, detail);
}

net::awaitable<Response> Api::answer(std::string caller, HttpRequest request) {
  Flow* const flow = flow_for(request);
  if (flow != nullptr) {
    Response response = co_await pawl::handle(*flow, caller, std::move(request));
    co_return as_unfinished(std::move(response));
  }
  if (request.method != "GET") co_return not_found();
  std::function<Response()> work = [this, caller, request] { return look_up(caller, request); };
  co_return co_await net::co_spawn(readers_, run_now(std::move(work)), net::use_awaitable);
}

Flow* Api::flow_for(const HttpRequest& request) {
  if (request.method != "POST") return nullptr;
  const std::string_view path = std::string_view(request.target);
  if (path == payments_path) return &flows_.pay;
  if (path == "/v1/transfers") return &flows_.transfer;
  if (!path.starts_with("/v1/payments/")) return nullptr;
  const std::size_t slash = path.find('/', payments_path.size() + 1);
  if (slash == std::string_view::npos) return nullptr;
  if (path.substr(slash) == "/refunds") return &flows_.refund;
  if (path.substr(slash) == "/cancel") return &flows_.cancel;
  return nullptr;
}

Response Api::look_up(const std::string& caller, const HttpRequest& request) {
  Response response;
  try {
    node_.transact([&](Database& database) { response = read(database, caller, request.target); });
  } catch (const std::exception&) {
    response = problem(503, "unavailable", "The database does not answer. Try again later.");
  }
  return response;
}

}  // namespace pawl::payments
