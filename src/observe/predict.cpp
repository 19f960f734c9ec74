#include "src/observe/predict.hpp"

#include "src/core/overloaded.hpp"

namespace pawl::observe {
namespace {

// A row, as it was found and as it is by now.
struct Place {
  std::optional<ObservedChange::Expected> found;
  std::optional<Record> record;
  bool changed = false;
};

using Places = std::map<ObservedKey, Place>;

// The lease of an observed request is not renewed: it lasts as long as its owner could have held
// it.
Policy policy_of(const ObservedRoute& route) {
  Policy policy = *route.policy;
  policy.lease += route.upstream_connect_timeout + policy.upstream_timeout;
  return policy;
}

class Predictor {
 public:
  Predictor(Places& places, const PredictionContext& context)
      : places_(places), context_(context) {}

  PredictedDecision operator()(const ObservedRequest& observed) {
    if (observed.certain) return *observed.certain;
    Place& place = places_.at(observed.id);
    const Policy policy = policy_of(observed.route);
    const Request request = request_of(observed);
    const Attempt attempt{
        .owner = observed.owner, .now = store_time(observed.at), .clock_trusted = true};
    Verdict verdict = place.record ? decide(*place.record, request, policy, attempt)
                                   : Verdict{Execute{}, first_record(request, policy, attempt)};
    const DecisionKind kind = kind_of(verdict.decision);
    const bool near = observed.near_duplicate && kind == DecisionKind::execute &&
                      observed.route.policy->near_duplicates == WhenNearDuplicate::refuse;
    if (near) return PredictedDecision::near_duplicate;
    if (verdict.next) put(place, std::move(*verdict.next));
    return predicted_for(kind);
  }

  void operator()(const ObservedOutcome& ending) {
    Place& place = places_.at(ending.id);
    if (!place.record || place.record->owner != ending.owner) return;
    const Status status = status_of(*place.record);
    if (status == Status::completed || status == Status::expired) return;
    SettleOptions nothing_kept;
    nothing_kept.response_bytes_max = 0;
    put(place, settled(*place.record, ending.outcome, store_time(ending.at), nothing_kept));
  }

 private:
  Request request_of(const ObservedRequest& observed) const {
    Request request;
    request.scope = Scope{observed.id.scope};
    request.key = Key{observed.id.key};
    request.fingerprint = observed.fingerprint;
    request.credentials = observed.credentials;
    request.meant_then = [this, &observed](const Fingerprint& stored,
                                           const FingerprintRules& rules) {
      return matches(stored, observed.content(), rules, context_.secrets);
    };
    return request;
  }

  [[nodiscard]] Instant store_time(BootTime at) const {
    return context_.now - (context_.boot_now - at);
  }

  static void put(Place& place, Record next) {
    place.record = std::move(next);
    place.changed = true;
  }

  Places& places_;
  const PredictionContext& context_;
};

}  // namespace

PredictedDecision predicted_for(DecisionKind decision) {
  switch (decision) {
    case DecisionKind::execute: return PredictedDecision::created;
    case DecisionKind::replay: return PredictedDecision::replay;
    case DecisionKind::in_flight: return PredictedDecision::in_progress;
    case DecisionKind::misuse: return PredictedDecision::key_misuse;
    case DecisionKind::undetermined: return PredictedDecision::unknown;
    case DecisionKind::gone: return PredictedDecision::expired;
    case DecisionKind::unproven: return PredictedDecision::caller_unproven;
    case DecisionKind::restored:
    case DecisionKind::spent: break;  // no token of a proxied request comes from outside
  }
  return PredictedDecision::not_read;
}

// Those that `identify` and the fingerprint give; anything else is a bad request.
PredictedDecision predicted_for(Problem refusal) {
  if (refusal == Problem::key_missing) return PredictedDecision::key_missing;
  if (refusal == Problem::key_invalid) return PredictedDecision::key_invalid;
  if (refusal == Problem::body_invalid) return PredictedDecision::body_invalid;
  if (refusal == Problem::body_too_large) return PredictedDecision::body_too_large;
  const bool unknown_caller = refusal == Problem::unauthenticated ||
                              refusal == Problem::forbidden || refusal == Problem::auth_unavailable;
  if (unknown_caller) return PredictedDecision::unauthenticated;
  return PredictedDecision::bad_request;
}

std::vector<std::string_view> all_words() {
  std::vector<std::string_view> words;
  for (const auto& [would, word] : Names<PredictedDecision>::table) {
    if (would != PredictedDecision::dropped) words.push_back(word);
  }
  return words;
}

std::optional<Record> record_of(const ObservedRow& row) {
  const std::optional<Status> status = from_text<Status>(row.status);
  Expected<StoredPolicy, std::string> policy = decode_policy(row.policy);
  if (!status || !policy) return std::nullopt;
  Record record;
  record.scope = Scope{row.id.scope};
  record.key = Key{row.id.key};
  record.fingerprint = Fingerprint{row.fingerprint};
  record.fence = Fence{row.fence};
  record.owner = Owner{row.owner};
  record.policy = std::move(*policy);
  record.created_at = row.created_at;
  record.expires_at = row.expires_at;
  switch (*status) {
    case Status::pending: record.state = Pending{}; break;
    case Status::in_progress:
      record.state = InProgress{row.locked_until - record.policy.lease, row.locked_until};
      break;
    case Status::completed: {
      StoredResponse response;
      response.status = row.response_code;
      record.state = Completed{std::move(response), row.completed_at};
      break;
    }
    case Status::failed_retryable: record.state = FailedRetryable{}; break;
    case Status::unknown: record.state = Unknown{row.locked_until, row.locked_until}; break;
    case Status::expired: record.state = Expired{}; break;
  }
  return record;
}

ObservedRow row_of(const Record& record) {
  ObservedRow row;
  row.id = {record.scope.text, record.key.text};
  row.fingerprint = record.fingerprint.text;
  row.status = to_text(status_of(record));
  row.fence = record.fence.number;
  row.owner = record.owner.text;
  row.policy = encode(record.policy);
  row.created_at = record.created_at;
  row.expires_at = record.expires_at;
  row.reap_after = record.expires_at;
  if (record.policy.expired == WhenExpired::tombstone) {
    row.reap_after += record.policy.tombstone_for;
  }
  if (const auto* held = std::get_if<InProgress>(&record.state)) {
    row.locked_until = held->locked_until;
  } else if (const auto* unknown = std::get_if<Unknown>(&record.state)) {
    row.locked_until = unknown->locked_until;
  } else if (const auto* done = std::get_if<Completed>(&record.state)) {
    row.response_code = done->response.status;
    row.completed_at = done->completed_at;
  }
  return row;
}

Prediction transition(std::span<const Observation> seen, const std::vector<ObservedKey>& keys,
                      const ObservationStore::Found& found, const PredictionContext& context) {
  Places places;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Place& place = places[keys[i]];
    if (!found[i]) continue;
    place.found = {found[i]->fence, found[i]->status};
    place.record = record_of(*found[i]);
  }
  Prediction prediction;
  Predictor predict(places, context);
  for (const Observation& each : seen) {
    if (const auto* observed = std::get_if<ObservedRequest>(&each)) {
      prediction.would.push_back(predict(*observed));
    } else {
      predict(std::get<ObservedOutcome>(each));
    }
  }
  for (const auto& [key, place] : places) {
    if (!place.changed) continue;
    prediction.written.changes.push_back({row_of(*place.record), place.found});
  }
  return prediction;
}

}  // namespace pawl::observe
