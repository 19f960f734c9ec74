// An outbox with a worker and a destination of its own. The destination keeps a ledger: what it did
// to the world, by Idempotency-Key.
#pragma once

#include <map>
#include <mutex>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {

// What a destination did. Safe from any thread.
class Ledger {
 public:
  // Does it, unless it dedupes and did it already. The id of the first time.
  std::string execute(const std::string& key, bool dedupes = true);
  [[nodiscard]] int effects(const std::string& key) const;
  [[nodiscard]] int all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> effects_;
};

// 201 with an "id"; the effect is in the ledger first.
Behaviour charge(Ledger& ledger, const ReceivedRequest& request, bool dedupes = true);

class OutboxTest : public OnEveryStore {
 protected:
  static constexpr const char* secret = "0123456789abcdef0123456789abcdef";

  OutboxTest();

  // A [[destination]] "provider" with short leases and pauses, and further lines of it.
  [[nodiscard]] std::string destination(const std::string& lines = "",
                                        const std::string& url = "") const;
  ServeProcess& start_worker(const std::string& destinations);

  // As a service's transaction leaves it. The row's number names it everywhere.
  void enqueue(int number, const std::string& to = "provider",
               const std::string& path = "/charges");
  static std::string id_of(int number);
  static std::string key_of(int number) { return "derived-" + std::to_string(number); }

  // `column` of a row, as text; "" where it is null.
  [[nodiscard]] std::string column(int number, const std::string& column);
  [[nodiscard]] std::string status(int number) { return column(number, "status"); }
  bool becomes(int number, const std::string& wanted);
  // One statement on this test's store; `table`s are spelt as PostgreSQL has them.
  std::string sql(const std::string& text);

  testing::Finished outbox(std::vector<std::string> arguments) const;

  Ledger ledger;
  UpstreamServer provider;
};

}  // namespace pawl::e2e
