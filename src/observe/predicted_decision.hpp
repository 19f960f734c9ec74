// What would have become of a request that was only watched.
#pragma once

#include <string_view>
#include <vector>

#include "src/core/decision.hpp"
#include "src/core/render.hpp"

namespace pawl::observe {

enum class PredictedDecision {
  created,  // executed: its key is new, or may run again
  replay,
  in_progress,      // 409, or 202, or made to wait
  key_misuse,       // 422: the key stands for another request
  unknown,          // 409: the outcome of the first one is not known
  expired,          // 410
  caller_unproven,  // 409: no caller was chosen, and the key is of other credentials
  near_duplicate,   // refused where the route says so
  unguarded,        // no key where none is required
  key_missing,
  key_invalid,
  body_invalid,
  body_too_large,
  unauthenticated,
  bad_request,  // the caller's credential is ambiguous
  not_read,     // not predicted: the upstream ended it before all of the body had come
  dropped,      // not predicted: the store was unavailable, or there was too much at once
};

PredictedDecision predicted_for(DecisionKind decision);
PredictedDecision predicted_for(Problem refusal);

// Every word that may be said of a request that was recorded.
std::vector<std::string_view> all_words();

}  // namespace pawl::observe

namespace pawl {

// The words of the metric pawl_observed_total{would}, and of the report.
template <>
struct Names<observe::PredictedDecision> {
  using W = observe::PredictedDecision;
  static constexpr NameTable<W, 17> table{{{W::created, "created"},
                                           {W::replay, "replay"},
                                           {W::in_progress, "in_progress"},
                                           {W::key_misuse, "key_misuse"},
                                           {W::unknown, "unknown"},
                                           {W::expired, "expired"},
                                           {W::caller_unproven, "caller_unproven"},
                                           {W::near_duplicate, "near_duplicate"},
                                           {W::unguarded, "unguarded"},
                                           {W::key_missing, "key_missing"},
                                           {W::key_invalid, "key_invalid"},
                                           {W::body_invalid, "body_invalid"},
                                           {W::body_too_large, "body_too_large"},
                                           {W::unauthenticated, "unauthenticated"},
                                           {W::bad_request, "bad_request"},
                                           {W::not_read, "not_read"},
                                           {W::dropped, "dropped"}}};
};

}  // namespace pawl
