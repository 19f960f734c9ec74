#include "src/operator/age_agreement.hpp"

#include <optional>

namespace pawl {
namespace {

constexpr int age_agreement_tries_max = 20;

using Agreed = Expected<std::optional<config::EarlierAges>, std::string>;

Unexpected<std::string> trouble_with_ages(const Upkeep& upkeep) {
  return Unexpected{"store: " + upkeep.trouble()};
}

// Once; nothing: lost a race with another node that has recorded something.
Task<Agreed> try_to_agree_on_ages(const config::Config& config, Store& store, Upkeep& upkeep) {
  const std::string ages = config::request_ages(config);
  const StoreResult<std::optional<std::string>> stored =
      co_await upkeep.fact(config::request_ages_fact);
  if (!stored) co_return trouble_with_ages(upkeep);
  const StoreResult<std::optional<std::string>> history =
      co_await upkeep.fact(config::request_ages_history_fact);
  if (!history) co_return trouble_with_ages(upkeep);
  std::string earlier = history->value_or("");
  if (*stored && **stored == ages) co_return std::optional(config::read_earlier_ages(earlier));
  if (*stored) {
    const StoreResult<StoreClock> clock = co_await store.time();
    if (!clock) co_return Unexpected{"store: " + std::string(to_text(clock.error()))};
    earlier = config::ages_after(earlier, **stored, ages, clock->now);
    // The history first: should we die in between, it holds too much rather than too little.
    const StoreResult<bool> kept =
        co_await upkeep.replace_fact(config::request_ages_history_fact, *history, earlier);
    if (!kept) co_return trouble_with_ages(upkeep);
    if (!*kept) co_return std::optional<config::EarlierAges>();
  }
  const StoreResult<bool> recorded =
      co_await upkeep.replace_fact(config::request_ages_fact, *stored, ages);
  if (!recorded) co_return trouble_with_ages(upkeep);
  if (!*recorded) co_return std::optional<config::EarlierAges>();
  co_return std::optional(config::read_earlier_ages(earlier));
}

}  // namespace

Task<Expected<config::EarlierAges, std::string>> agree_on_ages(const config::Config& config,
                                                               Store& store, Upkeep& upkeep) {
  for (int i = 0; i < age_agreement_tries_max; ++i) {
    Agreed agreed = co_await try_to_agree_on_ages(config, store, upkeep);
    if (!agreed) co_return Unexpected{agreed.error()};
    if (*agreed) co_return std::move(**agreed);
  }
  co_return Unexpected{std::string("other nodes keep changing how old requests may be")};
}

}  // namespace pawl
