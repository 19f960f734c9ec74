// One request that is only watched: told to the recorder once all of it is known.
#pragma once

#include <optional>
#include <utility>

#include "src/adapters/http/pass_through.hpp"
#include "src/observe/recorder.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/memory_budget.hpp"

namespace pawl::gateway {

// Its body comes while it passes; whose it is may be learnt beside that, even after it is over.
class Observation final : public http::PassWatch {
 public:
  Observation(observe::Recorder& recorder, const Clock& clock, observe::ObservedRequest observed,
              std::size_t body_limit, MemoryBudget& memory)
      : recorder_(recorder),
        clock_(clock),
        observed_(std::move(observed)),
        body_limit_(body_limit),
        memory_(&memory),
        owner_(observed_.owner) {}

  // Whose it is; `certain`: what would have become of it, where that follows.
  void name(ObservedKey id, std::string key_name,
            std::optional<observe::PredictedDecision> certain) {
    observed_.id = id_ = std::move(id);
    observed_.key_name = std::move(key_name);
    if (!observed_.certain) observed_.certain = certain;
    if (observed_.certain) drop_body();
    named_ = true;
    tell();
    tell_outcome();
  }

  void piece(std::string_view bytes) override {
    if (too_large_) return;
    too_large_ = bytes.size() > body_limit_ - seen_;
    seen_ += bytes.size();
    const bool kept = !too_large_ && !observed_.certain;
    const bool fits = kept && memory_.cover(charged_for(seen_, body_limit_), MemoryUse::new_work);
    if (fits) {
      observed_.body.append(bytes);
      return;
    }
    if (kept) observed_.certain = observe::PredictedDecision::dropped;  // no memory to keep it
    drop_body();
  }

  void whole() override {
    if (too_large_) observed_.certain = observe::PredictedDecision::body_too_large;
    arrive();
  }

  void ended(const Outcome& outcome) override {
    if (!arrived_) {
      observed_.certain = observe::PredictedDecision::not_read;
      arrive();
    }
    if (outcome_) return;
    outcome_.emplace(outcome, clock_.now());
    tell_outcome();
  }

 private:
  void drop_body() {
    observed_.body = std::string();
    memory_.resize(0, MemoryUse::new_work);
  }
  void arrive() {
    if (std::exchange(arrived_, true)) return;
    observed_.at = clock_.now();
    tell();
  }
  void tell() {
    if (told_ || !arrived_ || !named_) return;
    told_ = true;
    const bool predicted = !observed_.certain;
    const bool kept = recorder_.saw(std::move(observed_));  // from here on it counts the bytes
    memory_.resize(0, MemoryUse::new_work);
    taken_ = kept && predicted;
  }
  void tell_outcome() {
    if (!outcome_ || !std::exchange(taken_, false)) return;
    recorder_.ended(observe::ObservedOutcome{id_, owner_, outcome_->second, outcome_->first});
  }

  observe::Recorder& recorder_;
  const Clock& clock_;
  observe::ObservedRequest observed_;
  const std::size_t body_limit_;
  Charge memory_;
  ObservedKey id_;
  const Owner owner_;
  std::size_t seen_ = 0;  // of the body
  bool too_large_ = false;
  bool arrived_ = false;
  bool named_ = false;
  bool told_ = false;
  bool taken_ = false;
  std::optional<std::pair<Outcome, BootTime>> outcome_;  // the first that was told, and when
};

}  // namespace pawl::gateway
