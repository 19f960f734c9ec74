#include "tests/sim/events.hpp"

#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/event.hpp"
#include "tests/sim/sources.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr int tries_max = 20;

bool is_paid(const WebhookEvent& event) {
  return event.is_final && !event.declined && reconcile::is_success(event.response.status);
}

}  // namespace

Events::Events(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes)
    : outside_(outside),
      nodes_(nodes),
      stream_(outside.seed, "events"),
      there_are_any_(stream_.one_in(2)),
      skew_{stream_.between(0s, 110s) - Duration(55s), stream_.between(0s, 20s) - Duration(10s)} {
  outside.ledger.tell([this](const Identity& identity, const Ledger::Entry& entry) {
    if (there_are_any_) tell(identity, entry);
  });
}

WebhookEvent Events::event_about(const Identity& identity, const std::string& source, int life) {
  WebhookEvent event;
  event.subject = reconcile::derived_key(identity.first, identity.second);
  event.source = source;
  event.id = "evt_" + std::to_string(++told_);
  event.is_final = true;
  about_[event.id] = {identity, life};
  return event;
}

// By two machines of the source, each with a clock of its own.
void Events::tell(const Identity& identity, const Ledger::Entry& entry) {
  // In some worlds only what failed is told: nothing outweighs an earlier attempt's refusal there.
  const bool refused = entry.response.status >= 300;
  const bool failures_only = Stream(outside_.seed, "news").one_in(3);
  if (failures_only && !refused) return;
  for (const Duration skew : skew_) {
    Stream stream(outside_.seed, "event", told_ + 1);
    const Duration soon = stream.between(0s, 3s);
    const Duration late = stream.between(5s, stream.one_in(2) ? 40s : 300s);
    const Duration again = stream.between(0s, 200s);
    const bool dated = stream.one_in(4) ? false : true;
    SourceEvent told{event_about(identity, bank_name, entry.life), std::nullopt};
    told.event.declined = refused;
    told.event.response = entry.response;
    if (dated) {
      told.happened_at = std::chrono::floor<std::chrono::seconds>(outside_.server.honest() + skew);
    }
    const bool named = !stream.one_in(8);  // else by the derived key alone
    if (named) {
      told.event.scope = identity.first;
      told.event.key = identity.second;
    }
    if (outside_.chaos.strikes(Fault::event_foreign, stream)) tell_lies(identity, stream);
    const bool is_told = outside_.chaos.strikes(Fault::event, stream);
    if (!is_told && !failures_only) continue;
    const bool is_late = outside_.chaos.strikes(Fault::event_late, stream) || failures_only;
    const Duration now = outside_.scheduler.now();
    deliver(told, now + (is_late ? late : soon), 0);
    if (outside_.chaos.strikes(Fault::event_twice, stream)) deliver(told, now + again, 0);
    if (!stream.one_in(4)) continue;
    const std::string begun = told.event.id + ".begun";
    about_[begun] = about_.at(told.event.id);
    told.event.id = begun;  // not final, and perhaps told after the one that is
    told.event.is_final = false;
    deliver(std::move(told), now + stream.between(0s, 20s), 0);
  }
}

// Of a source that no route names: signed, well formed, and wrong.
void Events::tell_lies(const Identity& identity, Stream& stream) {
  SourceEvent told{event_about(identity, foreign_name, 0), std::nullopt};
  told.event.scope = identity.first;
  told.event.key = identity.second;
  told.event.response.status = stream.one_in(2) ? 201 : 402;
  told.event.response.body = "{\"of\":\"somebody else\"}";
  deliver(std::move(told), outside_.scheduler.now() + stream.between(0s, 20s), 0);
}

void Events::deliver(SourceEvent event, Duration at, int tries) {
  if (tries == tries_max) return;
  outside_.scheduler.at(at, [this, event = std::move(event), tries] {
    const auto durable = std::make_shared<bool>(false);
    Node& node = *nodes_[stream_.below(nodes_.size())];
    const Duration later = outside_.scheduler.now() + stream_.between(2s, 30s);
    node.hear(event, [durable] { *durable = true; });
    outside_.scheduler.at(later, [this, event, durable, tries] {
      if (!*durable) deliver(event, outside_.scheduler.now(), tries + 1);
    });
  });
}

Identity Events::identity_of(const WebhookEvent& event) const {
  const auto found = about_.find(event.id);
  return found == about_.end() ? Identity{} : found->second.identity;
}

void Events::leave_out_close_ones(std::vector<WebhookEvent>& events) const {
  std::erase_if(events, [this](const WebhookEvent& event) {
    const auto found = about_.find(event.id);
    if (found == about_.end() || event.source != bank_name) return false;
    const std::optional<Record>& row = outside_.checker.row(found->second.identity);
    if (!row) return false;
    const bool own =
        outside_.checker.is_about(found->second.identity, found->second.life, row->fence);
    const bool too_close = event.happened_at + reconcile::clock_difference >= row->created_at &&
                           event.received_at >= row->created_at;
    return !own && too_close;
  });
}

void Events::check_agreement(const WebhookEvent& event) const {
  const auto found = about_.find(event.id);
  if (found == about_.end() || event.source != bank_name || !is_paid(event)) return;
  const Identity& identity = found->second.identity;
  const std::optional<Record>& row = outside_.checker.row(identity);
  const auto* done = row ? std::get_if<Completed>(&row->state) : nullptr;
  if (done == nullptr || event.received_at < row->created_at) return;
  const bool own = outside_.checker.is_about(identity, found->second.life, row->fence);
  if (own && !reconcile::is_success(done->response.status)) {
    outside_.checker.violated(
        "an event that contradicts what is stored raises an alert", identity,
        std::to_string(done->response.status) + " is stored, and it was paid");
  }
}

}  // namespace pawl::sim
