#include "provider/book.hpp"

#include <chrono>
#include <limits>

#include "common/json.hpp"
#include "common/request.hpp"
#include "provider/schema.hpp"

namespace pawl::provider {
namespace {

constexpr std::size_t id_digits = 10;

}  // namespace

std::int64_t now_ms() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

Response problem(int status, std::string_view type, std::string_view code,
                 std::string_view message) {
  example::JsonObject error;
  error.text("type", type).text("code", code).text("message", message);
  example::JsonObject document;
  document.raw("error", error.done());
  return example::json_answer(status, document.done());
}

std::string id_text(std::string_view prefix, std::int64_t id) {
  const std::string digits = std::to_string(id);
  std::string text(prefix);
  if (digits.size() < id_digits) text.append(id_digits - digits.size(), '0');
  return text.append(digits);
}

std::optional<std::int64_t> id_number(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return example::to_number(text.substr(prefix.size()));
}

Expected<Book, std::string> Book::open(const std::string& path, BookOptions options,
                                       const Switchboard& faults) {
  try {
    Connection connection(path);
    for (const char* sql : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                            "PRAGMA foreign_keys = ON", schema}) {
      connection.run(sql);
    }
    return Book(std::move(connection), options, faults);
  } catch (const BookError& error) {
    return Unexpected{"cannot open " + path + ": " + error.what()};
  }
}

std::int64_t Book::visible_until() const {
  const std::int64_t delay = faults_.faults().visibility_delay_ms;
  return delay == 0 ? std::numeric_limits<std::int64_t>::max() : now_ms() - delay;
}

Response Book::once(const Once& once, const std::function<Response()>& work,
                    const Hook& before_commit) {
  Transaction transaction(connection_);
  if (std::optional<Response> told = told_before(once)) return std::move(*told);
  Response response = work();
  remember(once, response);
  before_commit();
  transaction.commit();
  return response;
}

std::optional<Response> Book::told_before(const Once& once) {
  if (once.key.empty()) return std::nullopt;
  Query query(connection_,
              "SELECT parameters, status, body FROM keys"
              " WHERE idempotency_key = ? AND created_ms > ?");
  if (!query.with(once.key).with(now_ms() - options_.key_window_ms).row()) return std::nullopt;
  if (query.text(0) != once.parameters) {
    return problem(400, "idempotency_error", "key_reused",
                   "This Idempotency-Key came with other parameters before.");
  }
  Response response = example::json_answer(static_cast<int>(query.number(1)), query.text(2));
  response.headers.push_back({"Idempotent-Replayed", "true"});
  return response;
}

// A mistake in the request binds nobody: only what was executed is kept, a decline too.
void Book::remember(const Once& once, const Response& response) {
  const bool executed = response.status == 201 || response.status == 402;
  if (once.key.empty() || !executed) return;
  Query(connection_, "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)")
      .with(once.key)
      .with(once.parameters)
      .with(response.status)
      .with(response.body)
      .with(now_ms())
      .run();
}

}  // namespace pawl::provider
