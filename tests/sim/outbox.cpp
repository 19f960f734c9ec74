#include "tests/sim/outbox.hpp"

#include "src/core/derived_key.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr const char* destination = "receipts";
// A destination remembers what it says, and as much longer as clocks may differ.
constexpr Duration window_slack = 3s;

}  // namespace

Outbox::Outbox(Outside& outside) : outside_(outside) {
  Stream stream(outside.seed, "outbox");
  constexpr std::array<Duration, 3> windows{20s, 60s, 600s};
  rules_.dedupes = !stream.one_in(3);
  rules_.dedupe_window = stream.pick(windows);
  rules_.timeout = 5s;
  rules_.max_attempts = 8;
  rules_.backoff_min = 1s;
  rules_.backoff_max = 10s;
}

// As pawl.enqueue does it: the same promise made again is the same row.
void Outbox::enqueue(const Record& held, const std::string& body) {
  const Identity identity{held.scope, held.key};
  const std::string derived = outbox_key(held.scope, held.key, destination, "", held.created_at);
  const std::string name = text_of(identity) + " of life " +
                           std::to_string(outside_.checker.life_of(identity, held.fence));
  messages_.push_back({identity, name, derived});
  outside_.checker.promised(name, identity);
  if (!name_of_.emplace(derived, name).second) return;
  OutboxRow row;
  row.scope = held.scope;
  row.key = held.key;
  row.id = derived.substr(0, 8);
  row.destination = destination;
  row.derived_key = derived;
  row.body = body;
  outside_.server.outbox().enqueue(std::move(row));
}

void Outbox::first_byte(const OutboxRow& row) const {
  if (!is_judged()) return;
  const auto found = outside_.server.run(outside_.server.outbox().find(row.id));
  const bool known = *found && (*found)->status == OutboxStatus::sending &&
                     (*found)->owner == row.owner && (*found)->first_sent_at;
  if (!known) {
    outside_.checker.violated("a message leaves only once it is stored that it may have",
                              {row.scope, row.key}, name_of_.at(row.derived_key));
  }
}

void Outbox::act(const OutboxRow& row) {
  const Duration now = outside_.scheduler.now();
  const auto done = acted_.find(row.derived_key);
  const bool remembered = rules_.dedupes && done != acted_.end() &&
                          now < done->second + rules_.dedupe_window + window_slack;
  if (remembered) return;
  acted_[row.derived_key] = now;
  const std::string& name = name_of_.at(row.derived_key);
  if (outside_.history.wanted()) outside_.history.add(now, "receipts", name + " is RECEIVED");
  if (is_judged()) outside_.checker.delivered(name, {row.scope, row.key});
}

bool Outbox::has(const std::string& derived_key, Duration when) const {
  const auto done = acted_.find(derived_key);
  return done != acted_.end() && done->second <= when;
}

// The outbox goes by the store's clock alone, and does not notice that it jumped.
bool Outbox::is_judged() const { return !outside_.server.ever_jumped(); }

void Outbox::report(Checker& checker) const {
  if (!is_judged()) return;
  std::map<std::string, OutboxStatus> ended;
  for (const OutboxRow& row : outside_.server.outbox().rows()) ended[row.derived_key] = row.status;
  for (const Message& message : messages_) {
    const bool own = name_of_.at(message.derived_key) == message.name;
    const std::string_view how = own ? to_text(ended.at(message.derived_key)) : std::string_view();
    checker.message_ended(message.name, message.identity, how);
  }
}

}  // namespace pawl::sim
