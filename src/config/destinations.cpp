#include "src/config/destinations.hpp"

#include <algorithm>

#include "src/config/address.hpp"
#include "src/config/known_names.hpp"

namespace pawl::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Range<Duration> call_timeout_range{milliseconds(1), hours(1)};
constexpr Range<Duration> claim_range{milliseconds(100), hours(1)};
constexpr Range<Duration> backoff_range{milliseconds(1), hours(24)};
constexpr Range<Duration> dedupe_range{seconds(1), longest};

std::string destination_name(std::string_view text) {
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  return !text.empty() && text.size() <= 100 && printable
             ? std::string()
             : "it must be 1 to 100 printable characters without blanks, like \"provider\"";
}

bool is_path(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c > ' ' && c < '\x7f' && c != '?' && c != '#' && c != '\\'; });
}

// Splits a URL into what is connected to and the path that comes before every row's own.
void read_url(const Node& node, Destination& destination, Diagnostics& findings) {
  const Value value{"url", node};
  const std::optional<std::string> text = string_in(value, findings);
  if (!text) return;
  const std::size_t scheme = text->find("://");
  const std::size_t slash =
      scheme == std::string::npos ? std::string::npos : text->find_first_of("/?#", scheme + 3);
  const std::string path = slash == std::string::npos ? "" : text->substr(slash);
  const Expected<UpstreamUrl, std::string> url = parse_upstream(text->substr(0, slash));
  if (!url) return complain(value, url.error(), findings);
  if (!is_path(path)) {
    return complain(value, "it must end after its path: no query, no fragment, no blanks",
                    findings);
  }
  destination.url = *url;
  destination.path = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

std::string show_url(const Destination& destination) {
  if (destination.url.host.empty()) return {};
  return quote(to_text(destination.url) + destination.path);
}

// What no single setting can say.
void check(const Node& table, const Destination& destination, Diagnostics& findings) {
  if (table.find("name") == nullptr || table.find("url") == nullptr) {
    findings.error(table.at,
                   "each [[destination]] needs 'name', by which rows call it, and 'url', like "
                   "\"https://api.provider.example\"");
  }
  const DestinationRules& rules = destination.rules;
  if (rules.backoff_min > rules.backoff_max) {
    findings.error(table.at, "'backoff_min' is " + to_text(rules.backoff_min) +
                                 "; it must not be over 'backoff_max', " +
                                 to_text(rules.backoff_max));
  }
  if (rules.dedupes && rules.dedupe_window <= rules.timeout) {
    findings.error(table.at,
                   "'dedupe_window' is " + to_text(rules.dedupe_window) +
                       "; it must be over 'timeout', " + to_text(rules.timeout) +
                       ": a call is repeated only if it arrives while its key is remembered");
  }
}

}  // namespace

const Settings<Destination>& destination_settings() {
  using D = Destination;
  const auto rule = [](auto member) {
    return [member](auto& destination) -> auto& { return destination.rules.*member; };
  };
  using R = DestinationRules;
  static const Settings<D> settings{
      text<D>("name", &D::name, destination_name),
      {"url", read_url, show_url},
      flag<D>("dedupes", rule(&R::dedupes)),
      duration<D>("dedupe_window", rule(&R::dedupe_window), dedupe_range),
      count<D>("max_attempts", rule(&R::max_attempts), {1, 1000}),
      duration<D>("backoff_min", rule(&R::backoff_min), backoff_range),
      duration<D>("backoff_max", rule(&R::backoff_max), backoff_range),
      duration<D>("timeout", rule(&R::timeout), call_timeout_range),
      duration<D>("connect_timeout", &D::connect_timeout, call_timeout_range),
      count<D>("concurrency", &D::concurrency, {1, 1000}),
      duration<D>("lease", &D::lease, claim_range),
      text<D>("provider_id", rule(&R::provider_id), place_in_answer),
      text<D>("secret_file", &D::secret_file, not_empty),
      text<D>("reconcile", &D::reconcile, any_text),
  };
  return settings;
}

std::vector<Destination> read_destinations(const Node& list, Diagnostics& findings) {
  std::vector<Destination> destinations;
  if (list.kind != Kind::array) {
    findings.error(list.at,
                   "'destination' must be a list: write [[destination]], with two brackets");
    return destinations;
  }
  for (const Node& item : list.items) {
    if (item.kind != Kind::table) {
      findings.error(item.at, "each [[destination]] must be a table");
      continue;
    }
    check_names(item, destination_table, findings);
    Destination destination;
    read_settings(item, destination_settings(), destination, findings);
    check(item, destination, findings);
    const bool known =
        !destination.name.empty() &&
        std::ranges::find(destinations, destination.name, &Destination::name) != destinations.end();
    if (known) {
      findings.error(item.find("name")->at,
                     "another [[destination]] is called " + quote(destination.name) + " already");
    }
    destinations.push_back(std::move(destination));
  }
  return destinations;
}

}  // namespace pawl::config
