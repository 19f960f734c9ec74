#include "src/gateway/http_ledger.hpp"

#include <algorithm>

#include "src/adapters/http/upstream_call.hpp"
#include "src/gateway/question.hpp"

namespace pawl::gateway {
namespace {

// The routes whose records the source knows about.
std::vector<std::string> routes_of(const config::Source& source, const config::Config& config) {
  std::vector<std::string> names;
  if (config.policy.reconcile == source.name) names.emplace_back("default");
  if (config.key_api.policy.reconcile == source.name) names.emplace_back("key-api");
  for (const config::Route& route : config.routes) {
    if (route.policy.reconcile == source.name) names.push_back(route.name);
  }
  return names;
}

}  // namespace

HttpLedger::HttpLedger(const config::Source& source, http::Deadlines& deadlines)
    : source_(source),
      deadlines_(deadlines),
      pool_(address_of(source.ledger->address), deadlines) {}

Task<Expected<std::string, LedgerPages::Failure>> HttpLedger::fetch(std::string target) {
  const std::string about = "GET " + target + ": ";
  Question question(source_, std::move(target), pool_.authority());
  http::CallOptions options;
  options.connect_timeout = source_.timeout;
  http::UpstreamCall call(pool_, question, options);
  AlwaysOpen gate;
  const Record none{};
  const Outcome outcome = co_await call.send(none, gate, deadlines_.now() + source_.timeout);
  if (const auto* unsent = std::get_if<NotSent>(&outcome)) {
    co_return Unexpected{Failure{about + unsent->why, true}};
  }
  if (const auto* lost = std::get_if<Lost>(&outcome)) {
    co_return Unexpected{Failure{about + lost->why, true}};
  }
  const Response& response = std::get<Answered>(outcome).response;
  if (response.status == 200) co_return response.body;
  const bool temporary = response.status >= 500 || response.status == 429;
  co_return Unexpected{Failure{about + "answered " + std::to_string(response.status), temporary}};
}

workers::LedgerSettings ledger_of(const config::Source& source, const config::Config& config) {
  workers::LedgerSettings settings;
  settings.source = source.name;
  settings.target = source.ledger->target;
  settings.rules = source.ledger->rules;
  settings.routes = routes_of(source, config);
  settings.visibility_window = source.patience.visibility_window;
  settings.since = source.ledger->since;
  settings.every = source.ledger->every;
  return settings;
}

std::vector<workers::LedgerSettings> ledgers_of(const config::Config& config) {
  std::vector<workers::LedgerSettings> all;
  for (const config::Source& source : config.sources) {
    if (source.ledger) all.push_back(ledger_of(source, config));
  }
  return all;
}

const config::Source* source_named(const config::Config& config, std::string_view name) {
  const auto found = std::ranges::find(config.sources, name, &config::Source::name);
  return found == config.sources.end() ? nullptr : &*found;
}

}  // namespace pawl::gateway
