#include "tests/sim/events.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> sources{"bank", "card"};
constexpr int tries_max = 20;

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

void Events::tell(const Identity& identity, const Ledger::Entry& entry) {
  // In some worlds only what failed is told: nothing outweighs an earlier attempt's refusal there.
  const bool refused = entry.response.status >= 300;
  const bool failures_only = Stream(outside_.seed, "news").one_in(3);
  if (failures_only && !refused) return;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Stream stream(outside_.seed, "event", ++told_);
    const Duration soon = stream.between(0s, 3s);
    const Duration late = stream.between(5s, stream.one_in(2) ? 40s : 300s);
    const Duration again = stream.between(0s, 200s);
    const bool dated = stream.one_in(4) ? false : true;
    SourceEvent event;
    event.source = sources[i];
    event.id = "evt_" + std::to_string(told_);
    event.identity = identity;
    event.life = entry.life;
    event.kept.is_final = true;
    event.kept.status = entry.response.status;
    event.response = entry.response;
    if (dated) {
      event.happened_at =
          std::chrono::floor<std::chrono::seconds>(outside_.server.honest() + skew_[i]);
    }
    const bool is_told = outside_.chaos.strikes(Fault::event, stream);
    if (!is_told && !failures_only) continue;
    const bool is_late = outside_.chaos.strikes(Fault::event_late, stream) || failures_only;
    const Duration now = outside_.scheduler.now();
    deliver(event, now + (is_late ? late : soon), 0);
    if (outside_.chaos.strikes(Fault::event_twice, stream)) deliver(event, now + again, 0);
    if (!stream.one_in(4)) continue;
    event.id += ".begun";  // not final, and perhaps told after the one that is
    event.kept.is_final = false;
    deliver(std::move(event), now + stream.between(0s, 20s), 0);
  }
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

bool Events::keep(const SourceEvent& event) {
  if (!known_.emplace(event.source, event.id).second) return false;
  table_[event.identity].push_back(event);
  ++kept_count_;
  return true;
}

std::vector<SourceEvent> Events::about(const Record& record) const {
  std::vector<SourceEvent> events;
  const auto found = table_.find({record.scope, record.key});
  if (found == table_.end()) return events;
  for (const SourceEvent& event : found->second) {
    const bool own = outside_.checker.is_about(found->first, event.life, record.fence);
    const bool too_close =
        event.kept.happened_at + reconcile::clock_difference >= record.created_at &&
        event.kept.received_at >= record.created_at;
    if (own || !too_close) events.push_back(event);
  }
  return events;
}

}  // namespace pawl::sim
