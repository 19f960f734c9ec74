#include "src/reconcile/late.hpp"

namespace pawl::reconcile {
namespace {

bool settles(const LateAnswer& answer, const Record& unknown) {
  // The first fence of a life is the store's time in microseconds when it began.
  const std::int64_t began = unknown.created_at.time_since_epoch().count();
  const bool same_life = answer.fence.number >= began && answer.fence <= unknown.fence;
  if (!same_life || answer.fingerprint != unknown.fingerprint) return false;
  const int status = answer.response.status;
  if (answer.fence < unknown.fence) return status >= 200 && status <= 299;
  Answered told;
  told.response.status = status;
  told.response.headers = answer.response.headers;
  return classify(Outcome{told}, unknown.policy) == Settling::complete;
}

}  // namespace

std::optional<std::size_t> settling(const std::vector<LateAnswer>& answers, const Record& unknown) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!settles(answers[i], unknown)) continue;
    // The first success is the one whose effect was there first.
    const bool better = !best || answers[i].fence > answers[*best].fence;
    const bool doubted = answers[i].fence == unknown.fence;
    if (!best || (better && doubted)) best = i;
  }
  return best;
}

}  // namespace pawl::reconcile
