#include "src/config/show.hpp"

#include <gmock/gmock.h>

#include <set>

#include "src/config/policy_settings.hpp"
#include "src/config/read_for_tests.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(const Config& config) { return show(config, Secrets::shown); }

// Every setting is something else than its default, and written exactly as it is shown. What comes
// back from reading and showing it has therefore been through the Config.
constexpr const char* everything = R"(listen = "0.0.0.0:80"
listen_mode = "0660"
proxy_protocol = true
trusted_proxies = ["10.0.0.0/8", "unix:"]
upstream = "https://api:8443"
hosts = ["eu.example", "us.example"]
store = "postgres://pawl:secret@db/pawl"
allow_lossy_store = true
drain_timeout = "3m"
drain_delay = "5s"
sweep_interval = "5s"
outbox_retention = "31d"
evidence_retention = "91d"
audit_retention = "401d"
threads = 4
replay_cache = "1GiB"
memory_budget = "512MiB"
connections_per_address = 7
log = "json"
log_level = "warning"

[admin]
listen = "[::1]:9"
listen_mode = "0600"
token_file = "/t \"quoted\" \u007F"

[admin.tls]
certificate_file = "/ac"
key_file = "/ak"
client_ca_file = "/aca"

[tls]
certificate_file = "/c"
key_file = "/k"
client_ca_file = "/ca"

[upstream_tls]
ca_file = "/uca"
certificate_file = "/uc"
key_file = "/uk"

[caller]
from = "jwt"
secret_file = "/secret"
tenant_claim = ["org_id", "sub"]
issuer = "i"
audience = "u"
leeway = "30s"

[limits]
header_bytes = "32KiB"
header_count = 10
target_bytes = "8000B"
header_timeout = "1s"
body_timeout = "2s"
idle_timeout = "3s"
connections = 5

[[fingerprint_secret]]
id = "new"
file = "/new"

[[fingerprint_secret]]
id = "old"
file = "/old"

[policy]
profile = "strict"
key = "optional"
key_from = ["header:Idempotency-Key"]
methods = ["POST", "DELETE"]
key_syntax = "bare"
min_key_length = 8
refuse_pii_keys = false
key_scope = "caller+route"
mode = "async"
transactional = true
in_flight = "wait"
wait_limit = "3s"
waiters = 4
on_lease_expiry = "unknown"
on_server_error = "store"
on_refusal = "release"
lease = "5s"
retention = "6h"
retention_from = "created"
expired = "delete"
tombstone_for = "8d"
forward_key = "derived"
near_duplicates = "off"
near_duplicate_window = "8s"
max_request_age = "9m"
request_time = "jwt:iat"
fingerprint = { include = ["/a", "/b/0"], exclude = ["/c~1d"] }
body_limit = "10KiB"
response_limit = "11B"
new_keys_per_second = 12
lookups_per_second = 1.5
active_keys = 13
upstream_timeout = "14s"
upstream_connect_timeout = "15ms"
upstream_idle = "0s"
until_close = "accept"
delete_body = true
max_attempts = 16
request_headers = ["X-One", "X-Two"]
resource_type = "payment"
resource_id = "/id"
reconcile = "bank"

[[route]]
match = "POST /v1/payments/{id}"
name = "payments"
profile = "ietf"
key = "required"
key_from = ["header:X-Key", "/idempotency_key"]
methods = ["POST", "PUT"]
key_syntax = "ietf"
min_key_length = 9
refuse_pii_keys = true
key_scope = "caller"
mode = "sync"
transactional = false
in_flight = "accepted"
wait_limit = "4s"
waiters = 5
on_lease_expiry = "retry"
on_server_error = "hold"
on_refusal = "hold"
lease = "6s"
retention = "7h"
retention_from = "completed"
expired = "tombstone"
tombstone_for = "9d"
forward_key = "same"
near_duplicates = "refuse"
near_duplicate_window = "9s"
max_request_age = "off"
request_time = ""
fingerprint = { include = [], exclude = [] }
body_limit = "11KiB"
response_limit = "12B"
new_keys_per_second = "off"
lookups_per_second = 2.5
active_keys = "off"
upstream_timeout = "15s"
upstream_connect_timeout = "16ms"
upstream_idle = "1ms"
until_close = "verify"
delete_body = false
max_attempts = 17
request_headers = []
resource_type = ""
resource_id = ""
reconcile = ""

[[source]]
name = "bank"
url = "https://bank/v1/find?key={key}&account={scope}"
timeout = "11s"
visibility_window = "6m"
absent_confirmations = 3
max_attempts = 21
backoff = "12s"
backoff_max = "2h"

[source.headers]
"X-Token" = "t"

[[source.rule]]
status = ["200", "2xx"]
where = { "/a" = ["b"], "/c" = "*" }
then = "completed"
response_status = 201
response_body = "{/a}"
response_type = "text/plain"
)";

TEST(Show, EverySettingSurvivesTheRoundTrip) { EXPECT_EQ(shown(good(everything)), everything); }

TEST(Show, TheRoundTripAboveHasEverySetting) {
  std::set<std::string> written;
  const std::string text = everything;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    written.insert(text.substr(at, text.find_first_of(" \n", at) - at));
  }
  for (const auto& names : {names_of(top_settings()), names_of(admin_settings()),
                            names_of(limits_settings()), names_of(policy_settings())}) {
    for (const std::string_view name : names) EXPECT_TRUE(written.contains(std::string(name)));
  }
}

TEST(Show, EveryWayToKnowACallerSurvivesTheRoundTrip) {
  const std::string hash(64, 'a');
  for (const std::string& caller :
       {std::string("from = \"single\"\n"),
        "from = \"api-key\"\nheader = \"X-Key\"\n\n[[caller.api_key]]\nscope = \"a\"\nsha256 = \"" +
            hash + "\"\n",
        std::string("from = \"api-key\"\nheader = \"Authorization\"\nkeys_file = \"/keys\"\n"),
        std::string("from = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"127.0.0.1/32\"]\n"),
        std::string(
            "from = \"jwt\"\njwks_file = \"/j\"\ntenant_claim = \"sub\"\nleeway = \"0s\"\n"),
        std::string("from = \"jwt\"\njwks_url = \"https://id/keys\"\ntenant_claim = [\"org\", "
                    "\"sub\"]\nleeway = \"0s\"\n"),
        std::string("from = \"mtls\"\nclient_ca_file = \"/ca\"\ncertificate_name = \"uri\"\n"),
        std::string("from = \"subrequest\"\nurl = \"https://a/b\"\nscope_header = \"X-Org\"\n"
                    "request_headers = [\"X-Session\"]\ntimeout = \"1s\"\ncache_for = \"0s\"\n")}) {
    const std::string text = shown(good("[caller]\n" + caller));
    EXPECT_THAT(text, HasSubstr("\n[caller]\n" + caller + "\n[limits]"));
    EXPECT_EQ(shown(good(text)), text);
  }
}

TEST(Show, TheDefaultsReadBackAsTheDefaults) {
  const std::string text = show(Config{});
  EXPECT_EQ(shown(good(text)), text);
  EXPECT_EQ(shown(good("")), text);
  EXPECT_THAT(text, Not(HasSubstr("[caller]"))) << "not chosen is not single";
  EXPECT_THAT(text, Not(HasSubstr("upstream = ")));
  EXPECT_THAT(text, HasSubstr("retention = \"48h\""));
}

TEST(Show, ARouteShowsWhatDiffersFromPolicy) {
  const std::string text = show(good(R"(
[policy]
profile = "stripe"
[[route]]
match = "POST /a"
lease = "30s"
[[route]]
match = "POST /b"
transactional = true
)"));
  EXPECT_THAT(text, HasSubstr("\n[[route]]\nmatch = \"POST /a\"\n\n[[route]]\nmatch = \"POST /b\"\n"
                              "transactional = true\non_lease_expiry = \"retry\"\n"));
  EXPECT_EQ(show(good(text)), text);
}

TEST(Show, SecretsAreMaskedAndWhatIsMaskedIsRefused) {
  const std::string hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  const std::string text =
      show(good("store = \"postgres://pawl:hunter2@db/pawl\"\n[caller]\nfrom = \"api-key\"\n"
                "[[caller.api_key]]\nscope = \"a\"\nsha256 = \"" +
                hash + "\"\n"));
  EXPECT_THAT(text, HasSubstr("store = \"postgres://pawl:***@db/pawl\""));
  EXPECT_THAT(text, HasSubstr("sha256 = \"9f86d081...\""));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, Not(HasSubstr(hash)));
  EXPECT_THAT(errors_of(text), HasSubstr("its password is masked"));
  EXPECT_THAT(errors_of(text), HasSubstr("'sha256': it must be"));
}

TEST(Show, SecretsOfSourcesAreMaskedAndWhatIsMaskedIsRefused) {
  const auto of = [](const std::string& query, const std::string& header) {
    return show(good(
        "[[source]]\nname = \"a\"\nurl = \"https://h/v1?key={key}" + query +
        "\"\n[source.headers]\nAuthorization = \"" + header +
        "\"\n[[source.rule]]\nstatus = 404\nthen = \"absent\"\n[source.ledger]\n"
        "url = \"https://h/list?after={cursor}" +
        query + "\"\nitems = \"/d\"\nnext = \"/n\"\nkey = \"/k\"\nscope = \"caller:default\"\n"));
  };
  const std::string named = of("&limit=1000&access_token=s3cret&n=x", "Bearer {env:T}");
  EXPECT_THAT(named, HasSubstr("v1?key={key}&limit=1000&access_token=***&n=x\""));
  EXPECT_THAT(named, HasSubstr("list?after={cursor}&limit=1000&access_token=***&n=x\""));
  EXPECT_THAT(named, HasSubstr("\"Bearer {env:T}\""));
  EXPECT_THAT(errors_of(named), HasSubstr("is masked, as `pawl config show` prints it"));
  EXPECT_THAT(of("&t=sk_live_0123456789", "x"), Not(HasSubstr("sk_live"))) << "whatever its name";
  for (const char* mixed : {"Bearer s3cret{env:T}", "{env:T}s3cret", "s3cret {file:/t}"}) {
    EXPECT_THAT(of("", mixed), Not(HasSubstr("s3cret"))) << mixed;
  }
}

TEST(Show, PasswordsAreMaskedInEveryFormOfAStore) {
  struct Row {
    const char* store;
    const char* masked;
  };
  for (const Row& row : {
           Row{"sqlite:pawl.db", "sqlite:pawl.db"},
           Row{"postgres://db/pawl", "postgres://db/pawl"},
           Row{"postgres://pawl@db:5432/pawl", "postgres://pawl@db:5432/pawl"},
           Row{"postgresql://u:p@h1:1,h2:2/d", "postgresql://u:***@h1:1,h2:2/d"},
           Row{"postgres://u:p@ss/w:d@db/pawl", "postgres://u:***@db/pawl"},
           Row{"postgres://u:@db", "postgres://u:***@db"},
           // libpq goes by the @, so a password may have what begins a query elsewhere.
           Row{"postgres://u:pw?secret@h/db", "postgres://u:***@h/db"},
           Row{"postgres://u:p/w?se=cret@h/db", "postgres://u:***@h/db"},
           Row{"postgres://u:12?se=cret@h/db?sslmode=require",
               "postgres://u:***@h/db?sslmode=require"},
           Row{"postgres://u:pw?@h/db?password=x", "postgres://u:***@h/db?password=***"},
           Row{"postgres://h:5432/db?user=a@b&password=c@d",
               "postgres://h:5432/db?user=a@b&password=***"},
           Row{"postgres://u@h/db?password=a&b&user=c",
               "postgres://u@h/db?password=***&***&user=c"},
           // A blank that was not quoted: what follows may be the rest of it.
           Row{"host=db password=se cret dbname=x", "host=db password=*** *** dbname=x"},
           Row{"host=db password=se cret", "host=db password=*** ***"},
           Row{"postgres://u@db/d?sslmode=require&password=p%20q&sslpassword=r",
               "postgres://u@db/d?sslmode=require&password=***&sslpassword=***"},
           Row{"host=db password=hunter2 dbname=pawl", "host=db password=*** dbname=pawl"},
           Row{"password='a \\' b' host=db", "password=*** host=db"},
           Row{"host=db password = x\\ y  user=u", "host=db password=***  user=u"},
           Row{"host=db password='never closed", "host=db password=***"},
           Row{"host=db sslpassword=x passfile=/p", "host=db sslpassword=*** passfile=/p"},
           Row{"host='a=b' password=x\\", "host='a=b' password=***"},
           Row{"password=a://b@c host=db", "password=*** host=db"},
       }) {
    EXPECT_EQ(mask_passwords(row.store), row.masked);
  }
}

}  // namespace
}  // namespace pawl::config
