#include "src/adapters/http/client_address.hpp"

#include <algorithm>
#include <vector>

#include "src/adapters/http/fields.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

// One per proxy on the way, the nearest last; nothing for one that is no address.
using Hops = std::vector<std::optional<IpAddress>>;

// "192.0.2.7", "192.0.2.7:443", "[2001:db8::1]", "[2001:db8::1]:443"; bare IPv6 where that is
// usual.
std::optional<IpAddress> node_in(std::string_view text, bool bare_v6) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && !(rest.front() == ':' && is_port_number(rest.substr(1)))) {
      return std::nullopt;
    }
    const std::optional<IpAddress> address = IpAddress::parse(text.substr(1, close - 1));
    return address && !address->written_v4 ? address : std::nullopt;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    const std::optional<IpAddress> address = IpAddress::parse(text);
    return address && (address->written_v4 || bare_v6) ? address : std::nullopt;
  }
  if (!is_port_number(text.substr(colon + 1))) return std::nullopt;
  return IpAddress::parse(text.substr(0, colon));
}

// A cursor over a Forwarded field: elements between commas, pairs between semicolons, values that
// are tokens or quoted.
class ForwardedReader {
 public:
  explicit ForwardedReader(std::string_view text) : rest_(text) {}

  // Nothing: it is malformed.
  std::optional<Hops> read() {
    Hops hops;
    do {
      skip_blanks();
      std::optional<IpAddress> hop;
      bool named = false;
      do {
        if (!pair(hop, named)) return std::nullopt;
      } while (take(';'));
      hops.push_back(hop);
      skip_blanks();
    } while (take(','));
    if (!rest_.empty()) return std::nullopt;
    return hops;
  }

 private:
  bool pair(std::optional<IpAddress>& hop, bool& named) {
    const std::string_view name = token();
    if (name.empty() || !take('=')) return false;
    const std::optional<std::string> value = take('"') ? quoted() : unquoted();
    if (!value) return false;
    if (!same_word(name, "for")) return true;
    if (named) return false;  // twice in one element
    named = true;
    hop = node_in(*value, false);
    return true;
  }
  std::string_view token() {
    const auto* const end = std::ranges::find_if_not(rest_, is_token_char);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }
  std::optional<std::string> unquoted() {
    const std::string_view found = token();
    if (found.empty()) return std::nullopt;
    return std::string(found);
  }
  std::optional<std::string> quoted() {
    std::string text;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c == '\\') {
        if (rest_.empty()) return std::nullopt;
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      text += c;
    }
    return std::nullopt;
  }
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

Hops hops_in_list(std::string_view value) {
  Hops hops;
  for (const std::string_view member : list_members(value)) hops.push_back(node_in(member, true));
  return hops;
}

// Nothing: in doubt.
std::optional<std::string> first_untrusted(const Hops& hops, const Networks& trusted) {
  std::string nearest;
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    if (!*hop) return std::nullopt;
    nearest = to_text(**hop);
    if (!contains(trusted, nearest)) break;
  }
  return nearest;
}

}  // namespace

std::string client_address(const RequestHead& head, std::string_view peer,
                           const Networks& trusted) {
  const std::string itself(peer);
  if (trusted.empty() || !contains(trusted, peer)) return itself;
  const std::string forwarded = joined_values(head.fields, "Forwarded");
  const std::string list = joined_values(head.fields, "X-Forwarded-For");
  std::optional<std::string> client;
  if (!forwarded.empty()) {
    const std::optional<Hops> hops = ForwardedReader(forwarded).read();
    if (!hops) return itself;
    client = first_untrusted(*hops, trusted);
    if (!client) return itself;
  }
  if (!list.empty()) {
    const std::optional<std::string> listed = first_untrusted(hops_in_list(list), trusted);
    if (!listed || (client && client != listed)) return itself;
    client = listed;
  }
  return client.value_or(itself);
}

bool is_forwarded_list(std::string_view value) { return ForwardedReader(value).read().has_value(); }

std::string forwarded_for(std::string_view address) {
  const std::optional<IpAddress> read = IpAddress::parse(address.substr(0, address.find('%')));
  if (!read) return "for=unknown";
  return read->v4 ? "for=" + to_text(*read) : "for=\"[" + to_text(*read) + "]\"";
}

}  // namespace pawl::http
