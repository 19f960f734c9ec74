// What the contract suite needs to know about a store under test.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/ports/store.hpp"

namespace pawl::testing {

// One empty store. Every `connect` opens another way into the same data, as a second node would; a
// store that lives in the process gives the same object each time. Connections are used from
// several threads and may outlive each other, but not the harness.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual std::shared_ptr<Store> connect() = 0;

  // What the port itself cannot show: the audit entries, and the late evidence, written about a
  // key, oldest first. Nothing at all where a harness has no way to look; tests that need it are
  // skipped.
  virtual std::optional<std::vector<AuditEntry>> audit(const Scope& /*scope*/, const Key& /*key*/) {
    return std::nullopt;
  }
  virtual std::optional<std::vector<LateEvidence>> evidence(const Scope& /*scope*/,
                                                            const Key& /*key*/) {
    return std::nullopt;
  }

  // Forgets a record by hand, as an operator does. False where a harness has no way to.
  virtual bool purge(const Record& /*row*/) { return false; }
  // Makes every record that is there unreadable, as a newer version or a defect of the disk would.
  // False where a harness has no way to do it.
  virtual bool spoil_records() { return false; }
};

struct StoreUnderTest {
  std::string name;  // a word: it becomes part of the test's name
  std::function<std::unique_ptr<StoreHarness>()> open;
};

}  // namespace pawl::testing
