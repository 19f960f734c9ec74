// A store that fails on demand: the n-th call, and as many after it as asked for.
#pragma once

#include <functional>
#include <utility>

#include "src/ports/store.hpp"

namespace pawl::testing {

enum class Fault {
  unavailable,       // nothing is written, and it says so
  in_doubt_written,  // written, then claims not to know
  in_doubt_lost,     // not written, and claims not to know
};

struct FailAt {
  int call = 0;   // counted from 0, over all methods
  int times = 1;  // how many calls in a row
  Fault fault = Fault::unavailable;
};

class FaultStore final : public Store {
 public:
  FaultStore(Store& real, FailAt fail) : real_(real), fail_(fail) {}

  [[nodiscard]] int calls() const { return calls_; }

  // What happens elsewhere while the next replace, or find, is on its way. It is heard of once.
  void before_replace(std::function<void()> meanwhile) { before_replace_ = std::move(meanwhile); }
  void before_find(std::function<void()> meanwhile) { before_find_ = std::move(meanwhile); }

  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override;
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override;
  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) override;
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) override;
  Task<StoreResult<StoreClock>> time() override;
  Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> pending(PassQuery query) override;
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) override;
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override;

 private:
  // Counts this call; what befalls it, if anything.
  std::optional<Fault> next();

  Store& real_;
  FailAt fail_;
  int calls_ = 0;
  std::function<void()> before_replace_;
  std::function<void()> before_find_;
};

}  // namespace pawl::testing
