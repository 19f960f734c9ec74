#include "tests/sim/world.hpp"

#include <algorithm>

namespace pawl::sim {

using namespace std::chrono_literals;

World::World(WorldOptions options)
    : options_(std::move(options)),
      history_(options_.history),
      chaos_(options_.seed, options_.spared),
      server_(scheduler_, checker_, history_),
      outside_{options_.seed, scheduler_, server_, checker_, chaos_,
               history_,      ledger_,    outbox_, events_},
      stream_(options_.seed, "world"),
      outbox_(outside_),
      events_(outside_, nodes_),
      clients_(outside_, nodes_),
      consumers_(outside_, nodes_, clients_.secrets()) {
  const std::uint64_t count = 2 + stream_.below(3);
  for (std::uint64_t i = 1; i <= count; ++i) {
    nodes_.push_back(std::make_unique<Node>(outside_, static_cast<int>(i)));
  }
}

World::~World() = default;

void World::note(const std::string& what) {
  if (history_.wanted()) history_.add(scheduler_.now(), "world", what);
}

bool World::run_until(Duration when) {
  while (!checker_.violation() && scheduler_.now() < when) {
    if (!scheduler_.step()) break;
    ++steps_;
  }
  return !checker_.violation();
}

void World::run() {
  for (const std::unique_ptr<Node>& node : nodes_) node->start();
  const Duration active = stream_.between(60s, 300s);
  clients_.start(active);
  consumers_.start(active);
  scheduler_.at(5s, [this] { trouble(); });
  scheduler_.at(stream_.between(30s, 80s), [this] { make_truce(); });
  plan_restore();
  plan_corruption();
  watch_leaks();
  if (!run_until(active + 30s)) return;
  heal();
  // Longer than the longest lease and upstream timeout, with time to sweep and to reconcile.
  if (!run_until(scheduler_.now() + 150s)) return;
  note("everybody asks again");
  clients_.ask_again();
  consumers_.deliver_again();
  const Duration latest = scheduler_.now() + 400s;
  while (!(clients_.all_answered() && consumers_.all_finished()) && scheduler_.now() < latest) {
    if (!run_until(scheduler_.now() + 5s)) return;
  }
  if (!run_until(scheduler_.now() + 100s)) return;
  clients_.report_unanswered(checker_);
  consumers_.report_unfinished(checker_);
  outbox_.report(checker_);
  checker_.end(server_.honest());
}

// What befalls the world as a whole, every few seconds.
void World::trouble() {
  if (chaos_.ended()) return;
  scheduler_.at(scheduler_.now() + 5s, [this] { trouble(); });
  const Duration outage = stream_.between(100ms, 15s);
  const Duration step = stream_.between(0ms, 600ms) - Duration(300ms);
  const Duration jump = stream_.between(2min, 2h) * (stream_.one_in(2) ? 1 : -1);
  const Duration jump_length = stream_.between(1s, 60s);
  if (chaos_.strikes(Fault::failover, stream_)) {
    note("the store fails over, away for " + in_seconds(outage) + " s");
    server_.fail_over(scheduler_.now() + outage);
  }
  if (chaos_.strikes(Fault::clock_step, stream_)) {
    note("the store's clock is now off by " + in_seconds(step) + " s");
    server_.step_clock(step);
  }
  const bool noticed =
      std::ranges::all_of(nodes_, [](const auto& node) { return node->knows_time(); });
  if (noticed && !server_.jumped() && chaos_.strikes(Fault::clock_jump, stream_)) {
    note("the store's clock jumps by " + in_seconds(jump) + " s for " + in_seconds(jump_length) +
         " s");
    server_.jump_clock(jump);
    scheduler_.at(scheduler_.now() + jump_length, [this] {
      if (server_.jumped()) note("the store's clock is right again");
      server_.jump_clock(Duration{0});
    });
  }
  if (chaos_.strikes(Fault::secret_rotation, stream_)) clients_.rotate_secret();
  if (chaos_.strikes(Fault::purge, stream_)) purge_one();
  for (const std::unique_ptr<Node>& node : nodes_) {
    const Duration length = stream_.between(500ms, 40s);
    if (chaos_.strikes(Fault::partition, stream_)) node->cut_off(scheduler_.now() + length);
  }
}

// A backup is made, and some time later put back. The nodes are stopped for it, consumers are not.
void World::plan_restore() {
  Stream stream(options_.seed, "backup");
  const Duration made = stream.between(10s, 60s);
  const Duration put_back = made + stream.between(1s, 60s);
  if (!chaos_.strikes(Fault::store_restored, stream)) return;
  scheduler_.at(made, [this, put_back] {
    note("a backup is made");
    scheduler_.at(put_back, [this, backup = server_.backup(), since = server_.clock()] {
      if (!chaos_.ended() && !server_.jumped()) restore(backup, since);
    });
  });
}

void World::restore(const Server::Backup& backup, Instant since) {
  note("the backup is put back");
  for (const std::unique_ptr<Node>& node : nodes_) node->crash();
  server_.restore(backup);
  const Instant at = server_.clock();
  outside_.restoration = Restoration{.since = since, .at = at, .until = at + 10h};
}

// For good: a bad page of the disk. Only its own key may suffer.
void World::plan_corruption() {
  Stream stream(options_.seed, "corruption");
  const Duration when = stream.between(20s, 100s);
  const std::uint64_t which = stream.next();
  if (!chaos_.strikes(Fault::store_row_corrupt, stream)) return;
  scheduler_.at(when, [this, which] {
    const std::vector<Record> rows = server_.records();
    if (rows.empty() || chaos_.ended()) return;
    const Record& row = rows[which % rows.size()];
    note("the row of " + text_of({row.scope, row.key}) + " cannot be read any more");
    server_.corrupt({row.scope, row.key});
  });
}

// An operator who wants a client's answer forgotten, and who has looked at it first.
void World::purge_one() {
  std::vector<Identity> completed;
  for (const Identity& identity : checker_.keys()) {
    const std::optional<Record>& row = checker_.row(identity);
    const auto* done = row ? std::get_if<Completed>(&row->state) : nullptr;
    if (done == nullptr || is_of_key_api(identity)) continue;
    if (done->completed_at + 10s < server_.clock()) completed.push_back(identity);
  }
  const std::uint64_t which = stream_.next();
  if (completed.empty() || server_.down()) return;
  const Identity& identity = completed[which % completed.size()];
  if (server_.purge(identity)) note(text_of(identity) + " is purged");
}

void World::make_truce() {
  if (chaos_.ended()) return;
  note("a truce");
  chaos_.truce(true);
  mend();
  scheduler_.at(scheduler_.now() + 14s, [this] {
    if (!chaos_.ended()) note("the truce is over");
    chaos_.truce(false);
  });
  scheduler_.at(scheduler_.now() + stream_.between(30s, 80s), [this] { make_truce(); });
}

void World::heal() {
  note("no more faults");
  chaos_.end();
  mend();
}

void World::mend() {
  server_.fail_over(scheduler_.now());
  server_.jump_clock(Duration{0});
  for (const std::unique_ptr<Node>& node : nodes_) node->heal();
  consumers_.heal();
}

// A reservation of a living node that nobody works on and nothing was sent under: it must not wait
// for its lease to end.
void World::watch_leaks() {
  scheduler_.at(scheduler_.now() + 1s, [this] { watch_leaks(); });
  for (const Identity& identity : checker_.keys()) {
    const std::optional<Record>& row = checker_.row(identity);
    const bool swept =
        row && status_of(*row) == Status::unknown && row->last_error == "lease-expired";
    const bool open = swept || (row && status_of(*row) == Status::in_progress);
    bool leaking = chaos_.calm() && open && !checker_.asked(identity, row->fence) &&
                   !checker_.is_corrupt(identity);
    if (leaking) {
      leaking = false;
      for (const std::unique_ptr<Node>& node : nodes_)
        leaking |= node->abandoned(identity, row->owner);
    }
    if (!leaking) {
      leaks_.erase(identity);
      continue;
    }
    const auto [leak, fresh] = leaks_.try_emplace(identity, row->fence, scheduler_.now());
    if (leak->second.first != row->fence) leak->second = {row->fence, scheduler_.now()};
    // A call that was made before the truce may take 8 s, and an orphan is looked for every 10 s;
    // where passes have pages of one row, each in its turn.
    const Duration turn = Stream(options_.seed, "pages").one_in(3) ? 60s : 21s;
    if (scheduler_.now() - leak->second.second >= turn) checker_.reservation_leaked(identity, *row);
  }
}

}  // namespace pawl::sim
