// The processor's memory, in one SQLite file. Whatever one call writes is one transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/http.hpp"
#include "provider/faults.hpp"
#include "provider/query.hpp"

namespace pawl::provider {

struct Charge {
  std::int64_t amount = 0;  // minor units
  std::string currency;
  std::string customer;
  std::string reference;
};

struct Refund {
  std::string charge;                  // its id, "ch_..."
  std::optional<std::int64_t> amount;  // nothing: all that is left
};

// One POST as far as idempotency is concerned.
struct Once {
  std::string key;         // empty: none was sent
  std::string parameters;  // another text under the same key is a client's mistake
};

struct Delivery {
  std::int64_t id = 0;
  std::string body;
  std::int64_t attempts = 0;
};

struct Endpoint {
  std::string url;
  std::string secret;
};

struct BookOptions {
  std::int64_t key_window_ms = 24 * 60 * 60 * 1000;
};

class Book {
 public:
  static Expected<Book, std::string> open(const std::string& path, BookOptions options,
                                          const Switchboard& faults);

  // Do it, or tell again what was answered under this key. `before_commit` runs inside the
  // transaction.
  using Hook = std::function<void()>;
  Response charge(const Once& once, const Charge& charge, bool declined, const Hook& before_commit);
  Response refund(const Once& once, const Refund& refund, const Hook& before_commit);

  // As JSON; nothing where there is none, or where it is too young to be seen.
  std::optional<std::string> charge_by_id(const std::string& id);
  std::optional<std::string> charge_by_key(const std::string& key);
  std::optional<std::string> refund_by_id(const std::string& id);
  std::optional<std::string> refund_by_key(const std::string& key);
  // The charges after the one with that id (0: from the first), oldest first.
  std::string list(std::int64_t after, std::int64_t limit);
  // The witness. Sees everything at once.
  std::string ledger();

  void set_endpoint(const Endpoint& endpoint);
  std::optional<Endpoint> endpoint();
  std::vector<Delivery> due(std::int64_t limit);
  void delivered(const Delivery& delivery);
  void put_off(const Delivery& delivery);
  std::string deliveries();

 private:
  Book(Connection connection, BookOptions options, const Switchboard& faults)
      : connection_(std::move(connection)), options_(options), faults_(faults) {}

  Response once(const Once& once, const std::function<Response()>& work, const Hook& before_commit);
  std::optional<Response> told_before(const Once& once);
  void remember(const Once& once, const Response& response);
  void emit(const std::string& type, const std::string& object);
  [[nodiscard]] std::int64_t visible_until() const;

  Connection connection_;
  BookOptions options_;
  const Switchboard& faults_;
};

std::int64_t now_ms();

// {"error": {"type": ..., "code": ..., "message": ...}}
Response problem(int status, std::string_view type, std::string_view code,
                 std::string_view message);

// "ch_0000000042", and back; nothing where it is no such id.
std::string id_text(std::string_view prefix, std::int64_t id);
std::optional<std::int64_t> id_number(std::string_view prefix, std::string_view text);

}  // namespace pawl::provider
