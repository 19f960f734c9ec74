#include "src/operator/observed_traffic.hpp"

#include <set>

namespace pawl {
namespace {

// Which routes there are, where another was asked for.
std::string routes_in(const ObservationStore::Summary& summary) {
  std::set<std::string> names;
  for (const Tally& tally : summary.tallies) names.insert(tally.route);
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "\"" : ", \"").append(name + "\"");
  return all.empty() ? "none" : all;
}

}  // namespace

Task<OrRefusal<ObservationStore::Summary>> observed_traffic(ObservationStore& observations,
                                                            ObservedQuestion question) {
  StoreResult<ObservationStore::Summary> summary = co_await observations.summary(question.since);
  if (!summary) co_return port_failed(observations, summary.error());
  if (!question.route) co_return std::move(*summary);
  const std::string routes = routes_in(*summary);
  std::erase_if(summary->tallies,
                [&](const Tally& tally) { return tally.route != *question.route; });
  if (summary->tallies.empty()) {
    co_return refused("nothing was observed on route \"" + *question.route +
                      "\" in that time; observed routes: " + routes);
  }
  co_return std::move(*summary);
}

}  // namespace pawl
