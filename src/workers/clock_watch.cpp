#include "src/workers/clock_watch.hpp"

namespace pawl::workers {

std::string clock_trouble(const StoreTime& time) {
  if (time.trusted()) return {};
  std::string text =
      "the store's clock and this machine's have moved apart; new keys are refused, and nothing "
      "expires, until they agree again";
  if (time.needs_restart()) {
    return text +
           ". By more than 15 minutes: set right the clock that is wrong, or, if the store's is "
           "right, restart this node";
  }
  return text + " or have run side by side for 5 minutes";
}

std::optional<ClockNotice> ClockWatch::changed(const StoreTime& time) {
  std::string trouble = clock_trouble(time);
  if (trouble == said_) return std::nullopt;
  said_ = std::move(trouble);
  if (said_.empty()) return ClockNotice{"info", "the store's clock can be trusted again"};
  return ClockNotice{"warning", said_};
}

}  // namespace pawl::workers
