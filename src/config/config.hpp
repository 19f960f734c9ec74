// The configuration: one struct per table of the file, with every default in it.
//
// Whoever needs a setting is given this struct or a part of it; nobody else reads files or flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/time.hpp"
#include "src/core/boundary_policy.hpp"
#include "src/core/key_ring.hpp"
#include "src/core/outbox.hpp"
#include "src/reconcile/event.hpp"
#include "src/reconcile/ledger.hpp"
#include "src/reconcile/rules.hpp"
#include "src/reconcile/schedule.hpp"
#include "src/reconcile/signature.hpp"
#include "src/reconcile/template.hpp"

namespace pawl::config {

using pawl::ForwardKey;
enum class KeyScope { caller, caller_route };
enum class CallerFrom { single, api_key, jwt, header, mtls, subrequest };
enum class CertificateName { subject, uri, dns, email };
enum class LogFormat { human, json };
// Each with all before it.
enum class LogLevel { error, warning, info, debug };
enum class UntilClose { verify, accept };

// "127.0.0.1:8080", "[::1]:8080". Port 0: any free one. Or "unix:/run/pawl.sock".
struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string socket = {};  // of a Unix socket: its path, and there is no host
  friend bool operator==(const Address&, const Address&) = default;
};

// "http://127.0.0.1:3000". No path: a proxy does not rewrite paths. Or "unix:/run/api.sock".
struct UpstreamUrl {
  bool tls = false;
  std::string host;
  std::uint16_t port = 80;
  std::string socket = {};  // of a Unix socket: its path, and the host is "localhost"
  friend bool operator==(const UpstreamUrl&, const UpstreamUrl&) = default;
};

// A policy with the settings that only a gateway has.
struct RoutePolicy : BoundaryPolicy {
  ForwardKey forward_key = ForwardKey::same;
  KeyScope key_scope = KeyScope::caller;
  std::optional<Duration> max_request_age;
  std::string request_time;  // "jwt:iat" or "header:NAME"
  std::size_t body_limit = std::size_t{1} << 20;
  Duration upstream_connect_timeout = std::chrono::seconds(5);
  Duration upstream_idle = std::chrono::seconds(1);
  // An answer that ends with its connection, where nothing says that it is whole.
  UntilClose until_close = UntilClose::verify;
  bool delete_body = false;  // a DELETE may have one
  // Where a request has its key: "header:NAME", or a JSON pointer into the body.
  std::vector<std::string> key_from{"header:Idempotency-Key"};
  std::vector<std::string> methods{"POST", "PATCH"};  // the guarded ones
  // async: which of a request's headers are kept for the worker. Credentials only if listed here.
  std::vector<std::string> request_headers{"Accept", "Content-Type"};
  std::string reconcile;  // the [[source]] that knows what became of a request; empty: nobody
};

// The name in "header:NAME"; nothing where it is a JSON pointer.
std::optional<std::string_view> header_in(std::string_view key_place);
bool has_body_key(const RoutePolicy& policy);  // some place is in the body
bool guards(const RoutePolicy& policy, std::string_view method);

// One [[route]]. First match wins.
struct Route {
  std::string match;   // "POST /v1/payments/{id}", as written
  std::string name;    // given, or the match
  std::string method;  // "*": any
  std::string path;    // "{name}" is one segment, a final "*" is any rest
  RoutePolicy policy;
};

// [key_api]: for programs that are not proxied. Off until callers are listed.
struct KeyApi {
  KeyApi() { policy.body_limit = std::size_t{2} << 20; }  // an answer to keep, as JSON may spell it

  std::vector<std::string> callers;
  RoutePolicy policy;  // of it only what key_api_settings names
};

// [source.webhook]: what the source tells by itself.
struct Webhook {
  reconcile::SignatureRules signature;
  std::vector<std::string> secret_files;  // newest first
  std::vector<std::string> secrets;       // empty until load_secrets has read the files
  reconcile::EventRules events;
};

// [source.ledger]: the source's list of what it did, to be compared with our records.
struct Ledger {
  std::string url;      // as written
  UpstreamUrl address;  // of the url: whom to connect to,
  std::string target;   // and what to ask for there
  reconcile::LedgerRules rules;
  Duration every{0};  // by itself, so often; 0: only by `pawl reconcile`
  Duration since = std::chrono::hours(24);
};

// One [[source]]: who knows what became of a request whose outcome is unknown.
struct Source {
  std::string name;
  std::string url;             // as written; empty: it is not asked
  UpstreamUrl address;         // of the url: whom to connect to,
  reconcile::Template target;  // and what to ask for there
  Headers headers;             // as written: {file:PATH} stands for what is in a file
  Headers sent_headers;        // empty until load_secrets has read the files
  Duration timeout = std::chrono::seconds(10);
  reconcile::Patience patience;
  std::vector<reconcile::Rule> rules;
  // Of whose records it may tell: "caller:a", "api:*". None: of all whose route names it.
  std::vector<std::string> scopes;
  std::optional<Webhook> webhook;
  std::optional<Ledger> ledger;
};

struct ApiKey {
  std::string scope;
  std::string sha256;  // lower-case hexadecimal
};

struct Caller {
  // Not given: nobody is told apart, on loopback only; a key then belongs to the credentials that
  // used it first.
  std::optional<CallerFrom> from;
  // Where it is not given: in what else than `credential_headers` credentials come. Lower case.
  std::vector<std::string> credential_headers;
  std::string header;  // api-key: "Authorization" unless given; header: no default
  std::vector<ApiKey> api_keys;
  std::string keys_file;  // api-key: where api_keys came from, if not from the configuration itself
  std::vector<std::string> trusted;  // header: "127.0.0.1/32", ...
  std::string jwks_file;
  std::string jwks_url;
  std::string secret_file;
  std::string secret;  // empty until load_secrets has read the file
  std::vector<std::string> tenant_claim{"sub"};
  std::string issuer;
  std::string audience;
  Duration leeway = std::chrono::seconds(0);
  std::string client_ca_file;
  CertificateName certificate_name = CertificateName::subject;  // mtls: what of it is the tenant
  // subrequest: who is asked, with which of the request's headers, and which of the answer's names
  // the tenant.
  std::string url;
  std::string scope_header;
  std::vector<std::string> request_headers{"Authorization", "Cookie"};
  Duration timeout = std::chrono::seconds(2);     // for its whole answer
  Duration cache_for = std::chrono::seconds(10);  // what it allowed is not asked again
};

// One [[destination]]: where the outbox's worker sends rows that name it.
struct Destination {
  std::string name;
  UpstreamUrl url;
  std::string path;  // of the URL, without a final slash; a row's own path follows it
  DestinationRules rules;
  std::size_t concurrency = 8;  // calls at once, per worker
  Duration connect_timeout = std::chrono::seconds(5);
  Duration lease = std::chrono::seconds(30);
  std::string secret_file;
  std::string secret;     // empty until load_secrets has read the file
  std::string reconcile;  // the [[source]] that knows what became of a call; empty: nobody
};

// [tls], [admin.tls]: what a listener proves itself with. No certificate: it speaks plain HTTP.
struct ListenerTls {
  std::string certificate_file;  // with its chain
  std::string key_file;
  std::string client_ca_file;  // given: every client must have a certificate signed by it
};

// [upstream_tls]: for an upstream that is https.
struct UpstreamTls {
  std::string ca_file;           // in place of the system's authorities
  std::string certificate_file;  // of ours, for an upstream that asks for one
  std::string key_file;
};

struct Admin {
  ListenerTls tls;
  Address listen{"127.0.0.1", 9090};
  std::optional<unsigned> listen_mode;
  std::string token_file;
  std::string token;  // empty until load_secrets has read the file
};

// One [[fingerprint_secret]], newest first. load_secrets makes fingerprint_secrets of them.
struct SecretFile {
  std::string id;
  std::string file;
};

// [encryption]: what lies in the store is sealed with these.
struct Encryption {
  std::string keys_file;  // empty: nothing is sealed
  KeyRing keys;           // empty until load_secrets has read the file
};

// What a client may cost us before it is a caller.
struct Limits {
  std::size_t header_bytes = std::size_t{64} << 10;  // start line included
  std::size_t header_count = 200;
  std::size_t target_bytes = std::size_t{16} << 10;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);
  std::size_t connections = 10'000;
  std::size_t connections_per_address = 1024;
};

// Of a socket file, where none is given: its owner alone.
inline constexpr unsigned default_listen_mode = 0600;

struct Config {
  Address listen{"127.0.0.1", 8080};
  std::optional<unsigned> listen_mode;  // of a Unix socket
  bool proxy_protocol = false;          // every connection begins with a PROXY header
  std::vector<std::string> trusted_proxies;
  UpstreamUrl upstream;
  std::vector<UpstreamUrl> more_upstreams;  // the same API elsewhere
  // Lower-case names of APIs behind this gateway that must not be taken for one another.
  std::vector<std::string> hosts;
  std::string store = "sqlite:pawl.db";  // as written, until expand_store was called
  Duration drain_timeout = std::chrono::seconds(45);
  Duration drain_delay{0};
  Duration sweep_interval = std::chrono::seconds(10);
  // What outlives its record is kept for so long.
  Duration outbox_retention = std::chrono::days(30);
  Duration evidence_retention = std::chrono::days(90);
  Duration audit_retention = std::chrono::days(400);
  std::size_t threads = 0;                           // 0: one per core
  std::size_t replay_cache = std::size_t{64} << 20;  // bytes
  std::size_t memory_budget = 0;                     // bytes; 0: a share of what the machine has
  bool allow_lossy_store = false;
  LogFormat log = LogFormat::human;
  LogLevel log_level = LogLevel::info;
  ListenerTls tls;
  UpstreamTls upstream_tls;
  Admin admin;
  Caller caller;
  Limits limits;
  Encryption encryption;
  std::vector<SecretFile> fingerprint_secret_files;
  FingerprintSecrets fingerprint_secrets;  // empty until load_secrets has read the files
  RoutePolicy policy;                      // of every request that no route matches
  std::vector<Route> routes;
  KeyApi key_api;
  std::vector<Destination> destinations;
  std::vector<Source> sources;
};

}  // namespace pawl::config

namespace pawl {

template <>
struct Names<config::KeyScope> {
  static constexpr NameTable<config::KeyScope, 2> table{
      {{config::KeyScope::caller, "caller"}, {config::KeyScope::caller_route, "caller+route"}}};
};
template <>
struct Names<config::CallerFrom> {
  static constexpr NameTable<config::CallerFrom, 6> table{
      {{config::CallerFrom::single, "single"},
       {config::CallerFrom::api_key, "api-key"},
       {config::CallerFrom::jwt, "jwt"},
       {config::CallerFrom::header, "header"},
       {config::CallerFrom::mtls, "mtls"},
       {config::CallerFrom::subrequest, "subrequest"}}};
};
template <>
struct Names<config::CertificateName> {
  static constexpr NameTable<config::CertificateName, 4> table{
      {{config::CertificateName::subject, "subject"},
       {config::CertificateName::uri, "uri"},
       {config::CertificateName::dns, "dns"},
       {config::CertificateName::email, "email"}}};
};
template <>
struct Names<config::UntilClose> {
  static constexpr NameTable<config::UntilClose, 2> table{
      {{config::UntilClose::verify, "verify"}, {config::UntilClose::accept, "accept"}}};
};
template <>
struct Names<config::LogLevel> {
  static constexpr NameTable<config::LogLevel, 4> table{{{config::LogLevel::error, "error"},
                                                         {config::LogLevel::warning, "warning"},
                                                         {config::LogLevel::info, "info"},
                                                         {config::LogLevel::debug, "debug"}}};
};

template <>
struct Names<config::LogFormat> {
  static constexpr NameTable<config::LogFormat, 2> table{
      {{config::LogFormat::human, "human"}, {config::LogFormat::json, "json"}}};
};

}  // namespace pawl
