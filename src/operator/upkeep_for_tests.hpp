// What a store says of itself, in memory, and failing where a test wants it to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/adapters/memory/memory_store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::testing {

class FakeUpkeep final : public Upkeep {
 public:
  explicit FakeUpkeep(memory::MemoryStore& store) : store_(store) {}

  std::map<std::string, std::string> facts;
  std::vector<std::string> declared;  // every value, in order
  std::vector<AuditEntry> audit;
  std::vector<std::string> policies;
  std::size_t readable_policies = 1000;       // then there is trouble
  std::size_t page_rows_max = 2;              // however many are asked for
  std::vector<std::size_t> messages;          // what each call of doubt_messages finds, then none
  std::set<std::string> failing;              // methods, by name
  std::function<void()> before_replace_fact;  // what happens elsewhere meanwhile; once
  int locked = 0;                             // so many reads and writes of facts find a lock held
  StoreOverview counted;
  KeyCount keys;

  Task<StoreResult<std::size_t>> reap(TrailBefore) override { co_return std::size_t{0}; }

  Task<StoreResult<std::optional<std::string>>> fact(std::string name) override {
    if (fails("fact")) co_return Unexpected{StoreError::unavailable};
    if (locked > 0 && locked-- > 0) co_return Unexpected{StoreError::contended};
    const auto found = facts.find(name);
    if (found == facts.end()) co_return std::optional<std::string>();
    co_return std::optional<std::string>(found->second);
  }

  Task<StoreResult<Done>> declare(std::string name, std::string value, AuditEntry entry) override {
    if (fails("declare")) co_return Unexpected{StoreError::unavailable};
    declared.push_back(value);
    facts[name] = std::move(value);
    audit.push_back(std::move(entry));
    co_return Done{};
  }

  // One of `policies` in each page, which is called after its number.
  Task<StoreResult<PolicyPage>> stored_policies(Scope, Key after_key, std::size_t) override {
    const std::size_t next = after_key.text.empty() ? 0 : std::stoul(after_key.text);
    if (next >= readable_policies) co_return Unexpected{StoreError::unavailable};
    PolicyPage page;
    if (next < policies.size()) page.policies.push_back(policies[next]);
    page.last_key.text = std::to_string(next + 1);
    page.is_last = next + 1 >= policies.size();
    co_return page;
  }

  Task<StoreResult<KeyPage>> unsettled(Scope after_scope, Key after_key, std::size_t) override {
    if (fails("unsettled")) co_return Unexpected{StoreError::unavailable};
    KeyPage page;
    page.is_last = true;
    std::size_t seen = 0;
    for (const Record& record : store_.records()) {
      if (std::tie(record.scope, record.key) <= std::tie(after_scope, after_key)) continue;
      if (seen == page_rows_max) {
        page.is_last = false;
        break;
      }
      ++seen;
      page.last_scope = record.scope;
      page.last_key = record.key;
      const Status status = status_of(record);
      if (status == Status::completed || status == Status::expired) continue;
      page.keys.emplace_back(record.scope, record.key);
    }
    co_return page;
  }

  Task<StoreResult<std::size_t>> doubt_messages() override {
    if (fails("doubt_messages")) co_return Unexpected{StoreError::unavailable};
    if (messages.empty()) co_return std::size_t{0};
    const std::size_t some = messages.back();
    messages.pop_back();
    co_return some;
  }

  Task<StoreResult<StoreOverview>> overview() override {
    if (fails("overview")) co_return Unexpected{StoreError::unavailable};
    co_return counted;
  }

  Task<StoreResult<bool>> replace_fact(std::string name, std::optional<std::string> expected,
                                       std::string value) override {
    if (fails("replace_fact")) co_return Unexpected{StoreError::unavailable};
    if (locked > 0 && locked-- > 0) co_return Unexpected{StoreError::contended};
    if (before_replace_fact) std::exchange(before_replace_fact, {})();
    const auto found = facts.find(name);
    const auto now = found == facts.end() ? std::nullopt : std::optional(found->second);
    if (now != expected) co_return false;
    facts[name] = std::move(value);
    co_return true;
  }

  Task<StoreResult<KeyCount>> count_keys(std::int64_t) override { co_return keys; }

  Task<StoreResult<std::vector<KeyTarget>>> targets_after(Scope scope, Key key,
                                                          std::size_t rows_max) override {
    if (fails("targets_after")) co_return Unexpected{StoreError::unavailable};
    std::vector<KeyTarget> targets;
    for (const Record& record : store_.records()) {
      const bool after = std::tie(record.scope, record.key) > std::tie(scope, key);
      if (!after || targets.size() == rows_max) continue;
      targets.push_back({record.scope, record.key, record.method, record.path});
    }
    co_return targets;
  }

  [[nodiscard]] std::string trouble() const override { return "upkeep is unavailable"; }

 private:
  [[nodiscard]] bool fails(const char* method) const { return failing.contains(method); }

  memory::MemoryStore& store_;
};

}  // namespace pawl::testing
