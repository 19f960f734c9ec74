#include "src/adapters/sealed/sealed_transactions.hpp"

#include "src/adapters/sealed/sealed_records.hpp"

namespace pawl::sealed {
namespace {

class SealedPhaseTransaction final : public PhaseTransaction {
 public:
  SealedPhaseTransaction(std::unique_ptr<PhaseTransaction> inner, DataKeys& keys)
      : inner_(std::move(inner)), keys_(keys) {}

  Rows query(const std::string& sql, const std::vector<Value>& parameters) override {
    return inner_->query(sql, parameters);
  }
  sqlite3* sqlite() override { return inner_->sqlite(); }
  pg_conn* postgres() override { return inner_->postgres(); }
  std::string enqueue(const Record& held, const OutboxItem& item) override {
    return inner_->enqueue(held, item);
  }
  Record advance(const Record& held, const std::string& recovery_point) override {
    return in_clear(inner_->advance(held, recovery_point), held);
  }
  Record complete(const Record& held, const StoredResponse& response) override {
    const SharedKey key = keys_.on() ? keys_.at_hand(held.scope) : nullptr;
    // Looked up in this very transaction: what is sealed with a key that was erased is lost.
    const bool seals = key && inner_->has_data_key(held.scope, key->generation);
    if (!seals) return in_clear(inner_->complete(held, response), held);
    const std::string place = place_of_answer("response", held.scope, held.key, held.fence);
    Record done = in_clear(inner_->complete(held, sealed_answer(*key, place, response)), held);
    std::get<Completed>(done.state).response = response;
    return done;
  }
  bool has_data_key(const Scope& scope, int generation) override {
    return inner_->has_data_key(scope, generation);
  }
  Commit commit() override { return inner_->commit(); }

 private:
  // A record keeps its request as long as its fence stands: what was read is what `held` has.
  static Record in_clear(Record written, const Record& held) {
    written.request = held.request;
    return written;
  }

  const std::unique_ptr<PhaseTransaction> inner_;
  DataKeys& keys_;
};

class SealedTransactionSource final : public TransactionSource {
 public:
  SealedTransactionSource(std::unique_ptr<TransactionSource> inner, std::shared_ptr<DataKeys> keys)
      : inner_(std::move(inner)), keys_(std::move(keys)) {}

  std::unique_ptr<PhaseTransaction> begin() override {
    return std::make_unique<SealedPhaseTransaction>(inner_->begin(), *keys_);
  }
  [[nodiscard]] bool may_pass(const DatabaseError& failure) const override {
    return inner_->may_pass(failure);
  }

 private:
  const std::unique_ptr<TransactionSource> inner_;
  const std::shared_ptr<DataKeys> keys_;
};

}  // namespace

std::unique_ptr<TransactionSource> seal_transactions(std::unique_ptr<TransactionSource> source,
                                                     std::shared_ptr<DataKeys> keys) {
  return std::make_unique<SealedTransactionSource>(std::move(source), std::move(keys));
}

}  // namespace pawl::sealed
