#include "src/config/tables.hpp"

#include <algorithm>

#include "src/config/address.hpp"
#include "src/config/secrets.hpp"
#include "src/config/units.hpp"

namespace pawl::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Range<Duration> limit_timeout_range{milliseconds(1), hours(1)};
constexpr std::size_t million = 1'000'000;

template <class Parse>
auto parsed_by(Parse parse) {
  return [parse](Value value, Diagnostics& findings) {
    using Result = typename decltype(parse(std::string_view()))::value_type;
    const std::optional<std::string> text = string_in(value, findings);
    if (!text) return std::optional<Result>();
    auto result = parse(*text);
    if (result) return std::optional<Result>(std::move(*result));
    complain(value, result.error(), findings);
    return std::optional<Result>();
  };
}

std::string show_address(const Address& address) { return quote(to_text(address)); }

// Of a socket file, as chmod writes it.
std::optional<std::optional<unsigned>> mode_in(Value value, Diagnostics& findings) {
  const std::string text = value.node.kind == Kind::string ? value.node.text : std::string();
  const bool octal = (text.size() == 3 || (text.size() == 4 && text.front() == '0')) &&
                     std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  if (octal) return static_cast<unsigned>(std::stoul(text, nullptr, 8));
  complain(value, "it must be permissions in quotes, like \"0660\"", findings);
  return std::nullopt;
}

std::string show_mode(const std::optional<unsigned>& mode) {
  if (!mode) return {};
  std::string text = "\"0";
  for (const unsigned shift : {6U, 3U, 0U}) {
    text += static_cast<char>('0' + ((*mode >> shift) & 7U));
  }
  return text + '"';
}

// One, or a list of them.
void read_upstreams(const Node& node, Config& config, Diagnostics& findings) {
  const auto each = parsed_by(parse_upstream_or_socket);
  std::vector<UpstreamUrl> all;
  const bool is_list = node.kind == Kind::array && !node.items.empty();
  for (std::size_t i = 0; i < (is_list ? node.items.size() : 1); ++i) {
    const std::optional<UpstreamUrl> url =
        each({"upstream", is_list ? node.items[i] : node}, findings);
    if (!url) return;
    all.push_back(*url);
  }
  config.upstream = all.front();
  config.more_upstreams.assign(all.begin() + 1, all.end());
}

std::string show_upstreams(const Config& config) {
  if (config.upstream.host.empty()) return {};
  if (config.more_upstreams.empty()) return quote(to_text(config.upstream));
  std::vector<std::string> all{to_text(config.upstream)};
  for (const UpstreamUrl& url : config.more_upstreams) all.push_back(to_text(url));
  return show_strings(all);
}

std::optional<std::string> store_in(Value value, Diagnostics& findings) {
  std::optional<std::string> text;
  if (value.node.kind == Kind::string) text = value.node.text;
  const std::string must = text ? check_store(*text) : "it must be a text in quotes";
  if (must.empty()) return text;
  complain_unquoted(value, must, findings);
  return std::nullopt;
}

constexpr std::string_view of_the_machine = "auto";

std::optional<std::size_t> memory_budget_in(Value value, Diagnostics& findings) {
  if (value.node.kind == Kind::string && value.node.text == of_the_machine) return 0;
  return size_in(value, {std::size_t{1} << 20, std::size_t{1} << 40}, findings);
}

std::string show_memory_budget(std::size_t bytes) {
  return quote(bytes == 0 ? std::string(of_the_machine) : size_to_text(bytes));
}

bool is_lower_host_name(std::string_view text) {
  return !text.empty() && !text.ends_with('.') && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

std::optional<std::vector<std::string>> hosts_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = strings_in(value, false, findings);
  if (names && !std::ranges::all_of(*names, is_lower_host_name)) {
    complain(value, "each must be a host name in lower case, without a port: \"api.example\"",
             findings);
    return std::nullopt;
  }
  return names;
}

}  // namespace

std::string check_store(std::string_view store) {
  if (store.find(":***@") != std::string_view::npos ||
      store.find("password=***") != std::string_view::npos) {
    return "its password is masked, as `pawl config show` prints it; put the real one in, or leave "
           "it to a passfile (~/.pgpass)";
  }
  if (has_reference(store)) return {};  // looked at again when it is known
  if (store == "sqlite::memory:") {
    return "it would be kept in memory, once per connection, and be gone with the process; name a "
           "file, as in \"sqlite:/var/lib/pawl/pawl.db\"";
  }
  const bool sqlite = store.starts_with("sqlite:") && store.size() > 7;
  const bool url = store.starts_with("postgres://") || store.starts_with("postgresql://");
  const std::size_t equals = store.find('=');
  const bool pairs = equals != std::string_view::npos && equals > 0 &&
                     store.substr(0, equals).find_first_of(":/") == std::string_view::npos;
  if (sqlite || url || pairs) return {};
  return "it must be \"sqlite:PATH\", \"postgres://USER@HOST/DATABASE\", or PostgreSQL's key=value "
         "pairs (\"host=db dbname=pawl\")";
}

const Settings<Config>& top_settings() {
  using C = Config;
  static const Settings<C> settings{
      setting<C>("listen", &C::listen, parsed_by(parse_address), show_address),
      setting<C>("listen_mode", &C::listen_mode, mode_in, show_mode),
      flag<C>("proxy_protocol", &C::proxy_protocol),
      setting<C>("trusted_proxies", &C::trusted_proxies, networks_in, show_strings),
      {"upstream", read_upstreams, show_upstreams},
      setting<C>("hosts", &C::hosts, hosts_in, show_strings),
      setting<C>("store", &C::store, store_in, quote),
      flag<C>("allow_lossy_store", &C::allow_lossy_store),
      duration<C>("drain_timeout", &C::drain_timeout, {seconds(0), hours(1)}),
      duration<C>("drain_delay", &C::drain_delay, {seconds(0), hours(1)}),
      duration<C>("sweep_interval", &C::sweep_interval, {milliseconds(10), hours(1)}),
      duration<C>("outbox_retention", &C::outbox_retention, {seconds(1), longest}),
      duration<C>("evidence_retention", &C::evidence_retention, {seconds(1), longest}),
      duration<C>("audit_retention", &C::audit_retention, {seconds(1), longest}),
      count<C>("threads", &C::threads, {0, 1024}),
      size<C>("replay_cache", &C::replay_cache, {0, std::size_t{1} << 40}),
      setting<C>("memory_budget", &C::memory_budget, memory_budget_in, show_memory_budget),
      count<C>("connections_per_address",
               [](auto& config) -> auto& { return config.limits.connections_per_address; },
               {1, million}),
      choice<C>("log", &C::log),
      choice<C>("log_level", &C::log_level),
  };
  return settings;
}

const Settings<Admin>& admin_settings() {
  static const Settings<Admin> settings{
      setting<Admin>("listen", &Admin::listen, parsed_by(parse_address), show_address),
      setting<Admin>("listen_mode", &Admin::listen_mode, mode_in, show_mode),
      text<Admin>("token_file", &Admin::token_file, not_empty),
  };
  return settings;
}

const Settings<Encryption>& encryption_settings() {
  static const Settings<Encryption> settings{
      text<Encryption>("keys_file", &Encryption::keys_file, not_empty),
  };
  return settings;
}

const Settings<ListenerTls>& listener_tls_settings() {
  using T = ListenerTls;
  static const Settings<T> settings{
      text<T>("certificate_file", &T::certificate_file, not_empty),
      text<T>("key_file", &T::key_file, not_empty),
      text<T>("client_ca_file", &T::client_ca_file, not_empty),
  };
  return settings;
}

const Settings<UpstreamTls>& upstream_tls_settings() {
  using T = UpstreamTls;
  static const Settings<T> settings{
      text<T>("ca_file", &T::ca_file, not_empty),
      text<T>("certificate_file", &T::certificate_file, not_empty),
      text<T>("key_file", &T::key_file, not_empty),
  };
  return settings;
}

const Settings<Limits>& limits_settings() {
  using L = Limits;
  static const Settings<L> settings{
      size<L>("header_bytes", &L::header_bytes, {256, std::size_t{16} << 20}),
      count<L>("header_count", &L::header_count, {1, 10'000}),
      size<L>("target_bytes", &L::target_bytes, {64, std::size_t{16} << 20}),
      duration<L>("header_timeout", &L::header_timeout, limit_timeout_range),
      duration<L>("body_timeout", &L::body_timeout, limit_timeout_range),
      duration<L>("idle_timeout", &L::idle_timeout, limit_timeout_range),
      count<L>("connections", &L::connections, {1, million}),
  };
  return settings;
}

}  // namespace pawl::config
