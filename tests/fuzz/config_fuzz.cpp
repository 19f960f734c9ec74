// Any bytes as a configuration: what is refused is refused with its place, what is accepted and
// shown reads back as the same configuration, and what is shown with its secrets hidden has none of
// them in it and is not taken for a configuration.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/config/read_config.hpp"
#include "src/config/show.hpp"

namespace pawl::config {
namespace {

constexpr std::string_view file_name = "pawl.toml";

bool is_one_line(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

// A person has to find it: the line is one of the file's, or the one after the last.
void check_places(const Troubles& troubles, std::string_view text, bool has_place) {
  const auto lines = std::ranges::count(text, '\n') + 1;
  const Diagnostic* before = nullptr;
  for (const Diagnostic& trouble : troubles) {
    PAWL_CHECK(is_one_line(trouble.what) && is_one_line(to_text(trouble)));
    PAWL_CHECK(trouble.file == file_name);
    const bool placed = trouble.line >= 1 && trouble.line <= lines && trouble.column >= 1;
    PAWL_CHECK(placed || (!has_place && trouble.line == 0));
    PAWL_CHECK(before == nullptr || before->line <= trouble.line);
    before = &trouble;
  }
}

// What is made of the text while it is read, and is not shown itself.
void check_same(const Config& one, const Config& other) {
  PAWL_CHECK(one.routes.size() == other.routes.size());
  for (std::size_t i = 0; i < one.routes.size(); ++i) {
    const Route& a = one.routes[i];
    const Route& b = other.routes[i];
    PAWL_CHECK(a.match == b.match && a.name == b.name && a.method == b.method && a.path == b.path);
    PAWL_CHECK(static_cast<const StoredPolicy&>(a.policy) == b.policy);
  }
  PAWL_CHECK(static_cast<const StoredPolicy&>(one.policy) == other.policy);
  PAWL_CHECK(static_cast<const StoredPolicy&>(one.key_api.policy) == other.key_api.policy);
  PAWL_CHECK(one.key_api.callers == other.key_api.callers);
  PAWL_CHECK(one.caller.from == other.caller.from && one.caller.trusted == other.caller.trusted);
  PAWL_CHECK(one.caller.api_keys.size() == other.caller.api_keys.size());
  PAWL_CHECK(one.destinations.size() == other.destinations.size());
  for (std::size_t i = 0; i < one.destinations.size(); ++i) {
    PAWL_CHECK(one.destinations[i].path == other.destinations[i].path);
  }
  PAWL_CHECK(one.sources.size() == other.sources.size());
  for (std::size_t i = 0; i < one.sources.size(); ++i) {
    const Source& a = one.sources[i];
    const Source& b = other.sources[i];
    PAWL_CHECK(a.target.source == b.target.source && a.rules.size() == b.rules.size());
    PAWL_CHECK(a.webhook.has_value() == b.webhook.has_value());
    PAWL_CHECK(a.ledger.has_value() == b.ledger.has_value());
    if (a.ledger) PAWL_CHECK(a.ledger->target == b.ledger->target);
  }
}

void check_hidden(const Config& config, const std::string& shown) {
  const std::string masked = show(config, Secrets::masked);
  for (const ApiKey& key : config.caller.api_keys) {
    PAWL_CHECK(masked.find(key.sha256) == std::string::npos);
  }
  if (masked != shown) PAWL_CHECK(!read_config(masked, file_name));
}

void check(std::string_view text) {
  const Expected<Read, Troubles> read = read_config(text, file_name);
  if (!read) {
    PAWL_CHECK(!read.error().empty());
    return check_places(read.error(), text, /*has_place=*/true);
  }
  check_places(read->warnings, text, /*has_place=*/false);
  const std::string shown = show(read->config, Secrets::shown);
  const Expected<Read, Troubles> again = read_config(shown, file_name);
  PAWL_CHECK(again.has_value());
  PAWL_CHECK(show(again->config, Secrets::shown) == shown);
  check_same(read->config, again->config);
  check_hidden(read->config, shown);
}

}  // namespace
}  // namespace pawl::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  pawl::config::check(bytes);
  return 0;
}
