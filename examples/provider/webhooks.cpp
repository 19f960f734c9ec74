#include "provider/webhooks.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <iostream>

#include "common/client.hpp"
#include "common/json.hpp"
#include "common/sleep.hpp"
#include "provider/digest.hpp"

namespace pawl::provider {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr auto look_interval = 10ms;
constexpr auto answer_timeout = 5s;
constexpr std::size_t under_way_max = 8;
constexpr std::int64_t doublings_max = 7;  // of the pause between two tries

}  // namespace

std::string signature(std::string_view secret, std::int64_t unix_seconds, std::string_view body) {
  const std::string time = std::to_string(unix_seconds);
  std::string signed_text = time + ".";
  signed_text.append(body);
  return "t=" + time + ",v1=" + hmac_sha256_hex(secret, signed_text);
}

// Written with what it tells of. Whether it is sent late or twice is decided here.
void Book::emit(const std::string& type, const std::string& object) {
  if (!endpoint()) return;
  Query last(connection_, "SELECT coalesce(max(id), 0) FROM deliveries");
  last.row();
  const std::string event_id = id_text("evt_", last.number(0) + 1);
  last.run();
  example::JsonObject data;
  data.raw("object", object);
  example::JsonObject event;
  event.text("id", event_id).text("type", type).number("created_ms", now_ms());
  event.raw("data", data.done());
  const Faults& faults = faults_.faults();
  const bool late = faults_.strikes(faults.webhook_delay, "late/" + event_id);
  const bool twice = faults_.strikes(faults.webhook_duplicate, "twice/" + event_id);
  for (int copies = twice ? 2 : 1; copies > 0; --copies) {
    Query(connection_, "INSERT INTO deliveries (event_id, body, due_ms) VALUES (?, ?, ?)")
        .with(event_id)
        .with(event.done())
        .with(now_ms() + (late ? faults.webhook_delay_ms : 0))
        .run();
  }
}

void Book::set_endpoint(const Endpoint& endpoint) {
  Query(connection_, "INSERT OR REPLACE INTO endpoint VALUES (1, ?, ?)")
      .with(endpoint.url)
      .with(endpoint.secret)
      .run();
}

std::optional<Endpoint> Book::endpoint() {
  Query query(connection_, "SELECT url, secret FROM endpoint");
  if (!query.row()) return std::nullopt;
  return Endpoint{query.text(0), query.text(1)};
}

std::vector<Delivery> Book::due(std::int64_t limit) {
  Query query(connection_,
              "SELECT id, body, attempts FROM deliveries WHERE delivered_ms IS NULL"
              " AND due_ms <= ? ORDER BY due_ms, id LIMIT ?");
  query.with(now_ms()).with(limit);
  std::vector<Delivery> found;
  while (query.row()) found.push_back({query.number(0), query.text(1), query.number(2)});
  return found;
}

void Book::delivered(const Delivery& delivery) {
  Query(connection_, "UPDATE deliveries SET delivered_ms = ?, attempts = attempts + 1 WHERE id = ?")
      .with(now_ms())
      .with(delivery.id)
      .run();
}

void Book::put_off(const Delivery& delivery) {
  const std::int64_t pause = faults_.faults().webhook_retry_ms
                             << std::min(delivery.attempts, doublings_max);
  Query(connection_, "UPDATE deliveries SET due_ms = ?, attempts = attempts + 1 WHERE id = ?")
      .with(now_ms() + pause)
      .with(delivery.id)
      .run();
}

std::string Book::deliveries() {
  Query query(connection_,
              "SELECT count(delivered_ms), count(*) - count(delivered_ms),"
              " coalesce(sum(attempts), 0) FROM deliveries");
  query.row();
  example::JsonObject document;
  if (const auto to = endpoint()) document.text("url", to->url);
  return document.number("delivered", query.number(0))
      .number("waiting", query.number(1))
      .number("attempts", query.number(2))
      .done();
}

net::awaitable<void> Postman::run() {
  for (;;) {
    try {
      send_due();
    } catch (const BookError& error) {
      std::cerr << "webhooks: " << error.what() << '\n';
    }
    co_await example::sleep_for(look_interval);
  }
}

void Postman::send_due() {
  for (Delivery& delivery : book_.due(2 * under_way_max)) {
    if (under_way_.size() >= under_way_max) return;
    if (!under_way_.insert(delivery.id).second) continue;
    net::co_spawn(context_, deliver(std::move(delivery)), net::detached);
  }
}

net::awaitable<void> Postman::deliver(Delivery delivery) {
  try {
    const std::optional<Endpoint> endpoint = book_.endpoint();
    bool done = false;
    if (endpoint) done = co_await taken(*endpoint, delivery);
    done ? book_.delivered(delivery) : book_.put_off(delivery);
  } catch (const BookError& error) {
    std::cerr << "webhooks: " << error.what() << '\n';
  }
  under_way_.erase(delivery.id);
}

net::awaitable<bool> Postman::taken(const Endpoint& endpoint, const Delivery& delivery) {
  const Expected<example::Url, std::string> url = example::parse_url(endpoint.url);
  if (!url) co_return false;
  HttpRequest request;
  request.method = "POST";
  request.body = delivery.body;
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back(
      {"Provider-Signature", signature(endpoint.secret, now_ms() / 1000, delivery.body)});
  const Expected<Response, std::string> answer =
      co_await example::send(*url, std::move(request), answer_timeout);
  co_return answer && answer->status / 100 == 2;
}

}  // namespace pawl::provider
