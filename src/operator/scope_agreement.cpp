#include "src/operator/scope_agreement.hpp"

#include <chrono>
#include <optional>
#include <vector>

#include "src/config/scope_rule.hpp"
#include "src/operator/moved_keys.hpp"

namespace pawl {
namespace {

constexpr int agreement_tries_max = 20;  // of nodes that start at once, one gets through each time
// Under load a lock may be held for longer than one call waits for it.
constexpr std::chrono::seconds agreement_patience{10};
constexpr std::size_t targets_per_page = 5'000;

using MaybeText = Expected<std::optional<std::string>, std::string>;

// Why there is no agreement. A lock that another held may be free the next time.
struct Disagreement {
  std::string why;
  bool may_pass = false;
};

Unexpected<std::string> trouble_of(const Upkeep& upkeep) {
  return Unexpected{"store: " + upkeep.trouble()};
}
Unexpected<Disagreement> trouble_of(const Upkeep& upkeep, StoreError error) {
  return Unexpected{Disagreement{"store: " + upkeep.trouble(), error == StoreError::contended}};
}

// A key in the store that the new routes would not find; nothing where there is none.
Task<MaybeText> lost_key(const config::Config& config, std::string stored, Upkeep& upkeep) {
  const MovedKeys moved(stored, config);
  if (!moved.possible()) co_return std::optional<std::string>();
  Scope scope;
  Key key;
  for (;;) {
    const StoreResult<std::vector<Upkeep::KeyTarget>> page =
        co_await upkeep.targets_after(scope, key, targets_per_page);
    if (!page) co_return trouble_of(upkeep);
    for (const Upkeep::KeyTarget& target : *page) {
      std::optional<std::string> lost = moved.lost(target.scope.text, target.method, target.path);
      if (lost) co_return lost;
    }
    if (page->size() < targets_per_page) co_return std::optional<std::string>();
    scope = page->back().scope;
    key = page->back().key;
  }
}

// On what terms another rule takes the recorded one's place.
enum class Terms { at_start, accepted, while_serving };

std::string refusal(const std::string& why, Terms terms) {
  if (terms == Terms::while_serving) {
    return "the scopes of keys would be others: " + why +
           "; live keys would be new, so a retry of a payment would pay again. Only a restart can "
           "change that: it looks at the keys that are there";
  }
  return "the keys in the store belong to other scopes: " + why +
         ".\nStarting like this would make live keys new, so a retry of a payment would pay "
         "again.\nGo back to the old setting, or accept that with --new-scope-rule";
}

// What is recorded, by the clock that keys expire by.
struct RecordedRule {
  std::string rule;
  std::optional<std::string> history;
  std::int64_t now = 0;
};

// Why the rule must not take the recorded one's place; nothing where it may.
Task<MaybeText> contradicted(const config::Config& config, std::string rule, RecordedRule recorded,
                             Upkeep& upkeep, Terms terms) {
  const std::string before = recorded.history.value_or("");
  std::optional<std::string> why = config::contradiction(recorded.rule, rule);
  if (!why) why = config::old_contradiction(before, recorded.rule, rule, recorded.now);
  if (why) co_return why;
  if (terms == Terms::while_serving && MovedKeys(recorded.rule, config).may_move()) {
    co_return std::string("a route comes, goes or changes before one that binds keys to itself");
  }
  co_return co_await lost_key(config, recorded.rule, upkeep);
}

Task<Expected<bool, Disagreement>> record(Upkeep& upkeep, std::string name,
                                          std::optional<std::string> expected, std::string value) {
  const StoreResult<bool> done =
      co_await upkeep.replace_fact(std::move(name), std::move(expected), std::move(value));
  if (!done) co_return trouble_of(upkeep, done.error());
  co_return *done;
}

// Once; false: lost a race with another node that has recorded something.
Task<Expected<bool, Disagreement>> try_to_agree(const config::Config& config, Store& store,
                                                Upkeep& upkeep, Terms terms) {
  const std::string rule = config::scope_rule(config);
  const StoreResult<std::optional<std::string>> stored =
      co_await upkeep.fact(config::scope_rule_fact);
  if (!stored) co_return trouble_of(upkeep, stored.error());
  if (!*stored) co_return co_await record(upkeep, config::scope_rule_fact, std::nullopt, rule);
  if (**stored == rule) co_return true;
  const StoreResult<std::optional<std::string>> history =
      co_await upkeep.fact(config::scope_rule_history_fact);
  if (!history) co_return trouble_of(upkeep, history.error());
  const StoreResult<StoreClock> clock = co_await store.time();
  if (!clock) {
    co_return Unexpected{Disagreement{"store: " + std::string(to_text(clock.error())),
                                      clock.error() == StoreError::contended}};
  }
  const auto since_1970 = clock->now.time_since_epoch();
  const std::int64_t now = std::chrono::floor<std::chrono::seconds>(since_1970).count();
  if (terms != Terms::accepted) {
    const RecordedRule recorded{**stored, *history, now};
    const MaybeText why = co_await contradicted(config, rule, recorded, upkeep, terms);
    if (!why) co_return Unexpected{Disagreement{why.error()}};
    if (*why) co_return Unexpected{Disagreement{refusal(**why, terms)}};
  }
  // The history first: should we die in between, it holds too much rather than too little.
  const std::string after = config::history_after(history->value_or(""), **stored, rule, now);
  const Expected<bool, Disagreement> kept =
      co_await record(upkeep, config::scope_rule_history_fact, *history, after);
  if (!kept || !*kept) co_return kept;
  co_return co_await record(upkeep, config::scope_rule_fact, *stored, rule);
}

Task<Expected<Done, std::string>> agree_on(const config::Config& config, Store& store,
                                           Upkeep& upkeep, Terms terms) {
  const auto end = std::chrono::steady_clock::now() + agreement_patience;
  for (int i = 0; i < agreement_tries_max;) {
    const Expected<bool, Disagreement> agreed = co_await try_to_agree(config, store, upkeep, terms);
    const bool again = !agreed && agreed.error().may_pass && std::chrono::steady_clock::now() < end;
    if (again) continue;
    if (!agreed) co_return Unexpected{agreed.error().why};
    if (*agreed) co_return Done{};
    ++i;
  }
  co_return Unexpected{std::string("other nodes keep changing how scopes are made")};
}

}  // namespace

Task<Expected<Done, std::string>> agree_on_scopes(const config::Config& config, Store& store,
                                                  Upkeep& upkeep, bool accepted) {
  return agree_on(config, store, upkeep, accepted ? Terms::accepted : Terms::at_start);
}

Task<Expected<Done, std::string>> agree_on_reload(const config::Config& config, Store& store,
                                                  Upkeep& upkeep) {
  return agree_on(config, store, upkeep, Terms::while_serving);
}

}  // namespace pawl
