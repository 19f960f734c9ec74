// pawl keys, pawl explain: what an operator sees and does about single keys.
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/desk.hpp"
#include "src/config/files.hpp"
#include "src/core/dead_letter.hpp"
#include "src/core/half_done.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/operator/key_history.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl::cmd {
namespace {

constexpr std::size_t scopes_max = 10'000;  // looked at for a key that is not where it should be
constexpr std::size_t hash_digits_min = 6;
constexpr std::string_view lost_race =
    "lost a race with a concurrent update; check it (pawl keys show), then repeat";

struct Options {
  std::string store;
  std::string key;
  std::string scope;
  std::string reason;
  std::string actor;
  bool json = false;
  // explain
  std::string hash;
  std::string request_id;
  std::size_t scan = KeySearch{}.keys_max;
  // list
  std::string status = "unknown";
  bool dead = false;
  std::size_t limit = 100;
  // resolve
  bool completed = false;
  bool not_executed = false;
  std::int64_t fence = 0;  // of the attempt that was looked into; 0: not said
  int response_status = 0;
  std::string body_file;
  std::string content_type = "application/json";
  // purge
  bool forget_answer = false;
};

int failed(const std::string& what, int code = exit_failed) {
  std::cerr << "pawl keys: " << what << '\n';
  return code;
}

int list(const Options& options) {
  const std::optional<Listed> which =
      options.dead ? Listed::dead : from_text<Listed>(options.status);
  if (!which) {
    return failed("--status is \"" + options.status +
                      "\"; lists are made of unknown, dead, in_progress and pending keys. For "
                      "any other, look at the key itself: pawl keys show",
                  exit_usage);
  }
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  const Expected<Instant, std::string> now = time_of(**desk);
  if (!now) return failed(now.error());
  const auto keys = (*desk)->open.cases->list(*which, options.limit);
  if (!keys) return failed(keys.error());
  std::cout << (options.json ? key_list_json(*keys) : key_list(*keys, *now));
  if (keys->size() >= options.limit) {
    std::cerr << "pawl keys: these are the oldest " << options.limit
              << "; there may be more: --limit\n";
  }
  return exit_ok;
}

Expected<KeyFacts, std::string> facts_of(Desk& desk, const Options& options) {
  KeyFacts facts;
  facts.scope = Scope{options.scope};
  facts.key = Key{options.key};
  const Expected<Instant, std::string> now = time_of(desk);
  if (!now) return Unexpected{now.error()};
  facts.now = *now;
  StoreResult<std::optional<Record>> record = std::optional<Record>();
  if (!options.scope.empty()) record = run_here(desk.open.store->find(facts.scope, facts.key));
  if (!record) {
    return Unexpected{record.error() == StoreError::unreadable
                          ? std::string("the record cannot be understood: it is corrupt, or a "
                                        "newer pawl wrote it")
                          : "the store: " + std::string(to_text(record.error()))};
  }
  facts.record = std::move(*record);
  facts.store = options.store;
  ReconciliationStore& cases = *desk.open.cases;
  if (!facts.record) {
    auto elsewhere = cases.scopes_of(facts.key, scopes_max);
    if (!elsewhere) return Unexpected{elsewhere.error()};
    facts.elsewhere = std::move(*elsewhere);
    const auto told = recorded_restoration(*desk.open.upkeep);
    if (!told) return Unexpected{told.error()};
    if (*told && facts.now < (*told)->until) facts.forgotten_since = (*told)->since;
  }
  auto about = cases.find(facts.scope, facts.key);
  auto notes = cases.notes_of(facts.scope, facts.key);
  auto audit = cases.audit_of(facts.scope, facts.key);
  auto evidence = cases.evidence_of(facts.scope, facts.key);
  auto events = cases.events_of(reconcile::derived_key(facts.scope, facts.key));
  if (!about) return Unexpected{about.error()};
  if (!notes) return Unexpected{notes.error()};
  if (!audit) return Unexpected{audit.error()};
  if (!evidence) return Unexpected{evidence.error()};
  if (!events) return Unexpected{events.error()};
  facts.about = std::move(*about);
  facts.notes = std::move(*notes);
  facts.audit = std::move(*audit);
  facts.evidence = std::move(*evidence);
  facts.events = std::move(*events);
  return facts;
}

int tell(Desk& desk, const Options& options) {
  const Expected<KeyFacts, std::string> facts = facts_of(desk, options);
  if (!facts) return failed(facts.error());
  std::cout << (options.json ? key_story_json(*facts) : key_story(*facts));
  const bool nothing = !facts->record && facts->audit.empty() && facts->notes.empty() &&
                       facts->evidence.empty() && facts->events.empty();
  return nothing ? exit_failed : exit_ok;
}

KeySearch search_of(const Options& options) {
  KeySearch search;
  search.hash = options.hash;
  search.request_id = options.request_id;
  search.keys_max = options.scan;
  if (!options.scope.empty()) search.scope = Scope{options.scope};
  return search;
}

int tell_found(Desk& desk, Options options, const FoundKey& found) {
  if (!options.json && found.attempt != 0 && found.attempt != found.key.attempt) {
    std::cout << "It was attempt " << found.attempt << " at this key; there was another since.\n\n";
  }
  options.scope = found.key.scope.text;
  options.key = found.key.key.text;
  return tell(desk, options);
}

// By what a line of the log says.
int tell_logged(Desk& desk, const Options& options) {
  const KeySearch search = search_of(options);
  const auto found = search_keys(*desk.open.cases, search);
  if (!found) return failed(found.error());
  if (found->keys.size() == 1) return tell_found(desk, options, found->keys.front());
  std::cout << (options.json ? found_keys_json(*found) : found_keys(*found, search, options.store));
  return exit_failed;
}

// A key that no scope has may be what a line of the log has in a key's place.
ReconciliationStore::Result<std::optional<FoundKey>> logged_as(Desk& desk,
                                                               const std::string& text) {
  KeySearch search;
  if (looks_like_hash(text)) {
    search.hash = text;
  } else if (looks_like_request_id(text)) {
    search.request_id = text;
  } else {
    return std::optional<FoundKey>();
  }
  const auto found = search_keys(*desk.open.cases, search);
  if (!found) return Unexpected{found.error()};
  if (found->keys.size() != 1) return std::optional<FoundKey>();
  return std::optional(found->keys.front());
}

int show(const Options& asked) {
  Options options = asked;
  const int named = static_cast<int>(!options.key.empty()) +
                    static_cast<int>(!options.hash.empty()) +
                    static_cast<int>(!options.request_id.empty());
  if (named != 1) {
    return failed("say which key: KEY, or --hash or --request-id of a line of the log", exit_usage);
  }
  const bool is_hash = options.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!options.hash.empty() && (!is_hash || options.hash.size() < hash_digits_min)) {
    return failed("--hash is the log's key or key_hash: 6 to 12 hexadecimal digits", exit_usage);
  }
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  if (options.key.empty()) return tell_logged(**desk, options);
  if (!options.scope.empty()) {
    const StoreResult<std::optional<Record>> record =
        run_here((*desk)->open.store->find(Scope{options.scope}, Key{options.key}));
    if (!record || *record) return tell(**desk, options);
  }
  const auto holders = (*desk)->open.cases->scopes_of(Key{options.key}, scopes_max);
  if (!holders) return failed(holders.error());
  if (options.scope.empty() && holders->scopes.size() == 1) {
    options.scope = holders->scopes.front().text;
  }
  if (holders->scopes.empty()) {
    const auto logged = logged_as(**desk, options.key);
    if (!logged) return failed(logged.error());
    if (*logged) return tell_found(**desk, options, **logged);
  }
  return tell(**desk, options);
}

// Why the state table does not allow it.
std::string why_not_unknown(const std::optional<Record>& record) {
  if (!record) return "there is no such record; is --scope right?";
  switch (status_of(*record)) {
    case Status::completed:
      return "it is completed already, and an answer that was given is never changed. A "
             "concurrent update may have completed it: pawl keys show";
    case Status::failed_retryable:
      return "it is failed_retryable already: the next request with this key executes it";
    case Status::in_progress:
      return "an owner is executing it. It can be resolved only when its lease is over and its "
             "outcome is unknown";
    case Status::pending: return "it waits for a worker, and nothing was sent yet";
    case Status::expired: return "it is expired: there is nothing to resolve";
    case Status::unknown: return std::string(lost_race);
  }
  return "its state does not allow it";
}

// Which attempt the record is at, and how to see what is known of it.
std::string in_force(const Record& record) {
  return "it is at attempt " + std::to_string(record.attempt) + " now, under fence " +
         std::to_string(record.fence.number) + ". Look at that one first: pawl keys show";
}

std::string explain(const ResolveFailure& failure, Desk& desk, const Options& options) {
  if (const auto* store = std::get_if<StoreError>(&failure)) {
    return "the store: " + std::string(to_text(*store)) + ". Look with pawl keys show, then repeat";
  }
  const StoreResult<std::optional<Record>> record =
      run_here(desk.open.store->find(Scope{options.scope}, Key{options.key}));
  const std::optional<Record> current = record ? *record : std::nullopt;
  const auto* refusal = std::get_if<ResolveRefusal>(&failure);
  if (refusal != nullptr && *refusal == ResolveRefusal::too_early) {
    return "an owner may still be sending it; not executed is accepted from upstream_timeout "
           "after the lease's end on (pawl keys show says when)";
  }
  if (refusal != nullptr && *refusal == ResolveRefusal::bad_response) {
    return "it is a half-done flow of libpawl, and no call of it is recorded as sent: the service "
           "that runs the flow must finish it";
  }
  const bool another = current && options.fence != 0 && current->fence.number != options.fence;
  if (refusal != nullptr && another) {
    return "what you found is about fence " + std::to_string(options.fence) +
           ", and since then the key was executed again: " + in_force(*current);
  }
  return why_not_unknown(refusal == nullptr ? std::nullopt : current);
}

// "Not executed" lets it run again, and so it must say of which attempt it was found: another
// operator may have said the same before, and a later attempt may have executed since.
std::string why_fence_is_needed(Desk& desk, const Options& options) {
  const StoreResult<std::optional<Record>> found =
      run_here(desk.open.store->find(Scope{options.scope}, Key{options.key}));
  if (!found) return "the store: " + std::string(to_text(found.error()));
  if (!*found || status_of(**found) != Status::unknown) return why_not_unknown(*found);
  return "say which attempt you investigated: --fence N. " + in_force(**found);
}

Expected<Finding, std::string> finding_of(const Options& options) {
  if (options.completed == options.not_executed) {
    return Unexpected{std::string("say what you found: --completed or --not-executed")};
  }
  if (options.not_executed) {
    const bool more = options.response_status != 0 || !options.body_file.empty();
    if (more) return Unexpected{std::string("--status and --body go with --completed")};
    return Finding{FoundNotExecuted{}};
  }
  if (options.response_status < 200 || options.response_status > 599) {
    return Unexpected{
        std::string("--completed needs --status, the HTTP status its client is to be given: 200 "
                    "to 599")};
  }
  FoundCompleted found;
  found.response.status = options.response_status;
  found.response.body = "";
  if (!options.body_file.empty()) {
    const Expected<std::string, std::string> body = config::read_file(options.body_file);
    if (!body) return Unexpected{"--body " + options.body_file + " " + body.error()};
    found.response.body = *body;
    found.response.headers = {{"Content-Type", options.content_type}};
  }
  return Finding{std::move(found)};
}

// The record is settled; the case only follows.
void close_case(Desk& desk, const Record& record, bool happened, const std::string& actor,
                const std::string& reason, Instant now) {
  CaseChange change;
  change.state = happened ? CaseState::closed : CaseState::released;
  change.next_at = now;
  change.note = CaseNote{now, record.fence, "operator",
                         change.state == CaseState::closed ? "completed" : "not_executed",
                         actor + ": " + reason};
  const CaseId id{record.scope, record.key, record.fence};
  const ReconciliationStore::Result<Done> noted = desk.open.cases->change(id, change);
  if (!noted)
    std::cerr << "pawl keys: it is resolved; its history was not: " << noted.error() << '\n';
}

int resolve(const Options& options) {
  if (const std::string must = check_reason(options.reason); !must.empty()) {
    return failed(must, exit_usage);
  }
  Expected<Finding, std::string> finding = finding_of(options);
  if (!finding) return failed(finding.error(), exit_usage);
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  if (options.not_executed && options.fence == 0) {
    return failed("not resolved: " + why_fence_is_needed(**desk, options), exit_usage);
  }
  const std::string actor = options.actor.empty() ? current_user() : options.actor;
  const bool happened = std::holds_alternative<FoundCompleted>(*finding);
  std::optional<Fence> about;
  if (options.fence != 0) about = Fence{options.fence};
  const Expected<Record, ResolveFailure> resolved =
      run_here((*desk)->engine->resolve(Scope{options.scope}, Key{options.key}, std::move(*finding),
                                        "operator " + actor, options.reason, about));
  if (!resolved) return failed("not resolved: " + explain(resolved.error(), **desk, options));
  const Expected<Instant, std::string> now = time_of(**desk);
  if (now) close_case(**desk, *resolved, happened, actor, options.reason, *now);
  std::cout << "resolved: it is now " << to_text(status_of(*resolved));
  if (is_half_done(*resolved)) std::cout << ", and its flow goes on where it had stopped";
  std::cout << '\n';
  return exit_ok;
}

int release(Options options) {
  options.not_executed = true;
  options.completed = false;
  return resolve(options);
}

// What must be true of a record that is forgotten.
std::string why_not_purged(const Record& record, const Options& options) {
  switch (status_of(record)) {
    case Status::in_progress: return "an owner is executing it";
    case Status::pending: return "it waits for a worker and would never be executed";
    case Status::unknown:
      return "its outcome is unknown: the next request with this key would execute it, perhaps "
             "again. Resolve it first";
    case Status::completed:
      if (options.forget_answer) return {};
      return "it is completed: without its answer the next request with this key executes it "
             "AGAIN. If that is what you want, say --forget-answer";
    case Status::failed_retryable:
    case Status::expired: return {};
  }
  return "its state does not allow it";
}

int purge(const Options& options) {
  if (const std::string must = check_reason(options.reason); !must.empty()) {
    return failed(must, exit_usage);
  }
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  const StoreResult<std::optional<Record>> found =
      run_here((*desk)->open.store->find(Scope{options.scope}, Key{options.key}));
  if (!found) return failed("the store: " + std::string(to_text(found.error())));
  if (!*found) return failed("not purged: there is no such record; is --scope right?");
  const Record& record = **found;
  const std::string refusal = why_not_purged(record, options);
  if (!refusal.empty()) return failed("not purged: " + refusal);
  const std::string actor = options.actor.empty() ? current_user() : options.actor;
  const ReconciliationStore::Result<bool> purged =
      (*desk)->open.cases->purge(record.scope, record.key, guard_of(record),
                                 AuditEntry{"operator " + actor, "purge", options.reason});
  if (!purged) return failed(purged.error());
  if (!*purged) return failed("not purged: " + std::string(lost_race));
  std::cout
      << "purged: a request with this key is new. Nodes that have its answer in memory forget "
         "it within seconds\n";
  return exit_ok;
}

// A dead letter of an async route, as it will be; nothing where it is none.
using Handled = std::optional<Record> (*)(const Record& record, Instant now);

int handle_dead_letter(const Options& options, const std::string& action, const std::string& done,
                       Handled handled) {
  if (const std::string must = check_reason(options.reason); !must.empty()) {
    return failed(must, exit_usage);
  }
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  const Expected<Instant, std::string> now = time_of(**desk);
  if (!now) return failed(now.error());
  const StoreResult<std::optional<Record>> found =
      run_here((*desk)->open.store->find(Scope{options.scope}, Key{options.key}));
  if (!found) return failed("the store: " + std::string(to_text(found.error())));
  std::optional<Record> next = *found ? handled(**found, *now) : std::nullopt;
  if (!next) {
    const std::string status = *found ? "it is " + std::string(to_text(status_of(**found)))
                                      : std::string("there is no such record; is --scope right?");
    return failed("not " + done + ": only accepted work that is out of attempts can be; " + status +
                  ". pawl keys list --dead");
  }
  const std::string actor = options.actor.empty() ? current_user() : options.actor;
  const std::string became(to_text(status_of(*next)));
  Replacement change{std::move(*next), guard_of(**found),
                     AuditEntry{"operator " + actor, action, options.reason}};
  const StoreResult<Written> written =
      run_here((*desk)->open.store->replace_one(std::move(change)));
  if (!written) return failed("the store: " + std::string(to_text(written.error())));
  if (!written->mine) return failed("not " + done + ": " + std::string(lost_race));
  std::cout << done << ": it is now " << became << '\n';
  return exit_ok;
}

int ask(const Options& options) {
  if (const std::string must = check_reason(options.reason); !must.empty()) {
    return failed(must, exit_usage);
  }
  const auto desk = open_given(options.store);
  if (!desk) return failed(desk.error());
  const Expected<Instant, std::string> now = time_of(**desk);
  if (!now) return failed(now.error());
  const StoreResult<std::optional<Record>> found =
      run_here((*desk)->open.store->find(Scope{options.scope}, Key{options.key}));
  if (!found) return failed("the store: " + std::string(to_text(found.error())));
  const auto* doubt = *found ? std::get_if<Unknown>(&(*found)->state) : nullptr;
  if (doubt == nullptr) return failed("not asked: " + why_not_unknown(*found));
  const std::string actor = options.actor.empty() ? current_user() : options.actor;
  const CaseNote note{*now, (*found)->fence, "operator", "asked again",
                      actor + ": " + options.reason};
  const ReconciliationStore::Result<bool> reopened =
      (*desk)->open.cases->reopen(Scope{options.scope}, Key{options.key}, note);
  if (!reopened) return failed(reopened.error());
  if (!*reopened) return failed("not asked: it is no dead letter; its source is being asked");
  Record next = **found;
  next.state = Unknown{
      .reconcile_after = *now, .locked_until = doubt->locked_until, .locked_at = doubt->locked_at};
  Replacement change{std::move(next), guard_of(**found),
                     AuditEntry{"operator " + actor, "ask", options.reason}};
  const StoreResult<Written> written =
      run_here((*desk)->open.store->replace_one(std::move(change)));
  if (!written) return failed("the store: " + std::string(to_text(written.error())));
  std::cout << "its source is asked again, at the next poll of any node\n";
  return exit_ok;
}

CLI::App* add(CLI::App& parent, const char* name, const char* what,
              const std::shared_ptr<Options>& options) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  return command;
}

CLI::App* add_for_key(CLI::App& parent, const char* name, const char* what,
                      const std::shared_ptr<Options>& options) {
  CLI::App* command = add(parent, name, what, options);
  command->add_option("KEY", options->key, "The key, as the client sent it, without quotes")
      ->required();
  command->add_option("--scope", options->scope, "Whose key: caller:NAME, as lists show it")
      ->required();
  return command;
}

void add_reason(CLI::App* command, const std::shared_ptr<Options>& options) {
  command->add_option("--reason", options->reason, "Why; kept with your name")->required();
  command->add_option("--actor", options->actor, "Who does it (you, on this machine)");
}

void add_fence(CLI::App* command, const std::shared_ptr<Options>& options) {
  command
      ->add_option(
          "--fence", options->fence,
          "Which attempt you investigated, as lists and explain show it: refused where the "
          "key was executed again since. Needed to say that it was not executed")
      ->check(CLI::PositiveNumber);
}

void add_show(CLI::App& parent, const char* name, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = add(parent, name, "Show the history of one key in plain words", options);
  command->add_option("KEY", options->key, "The key, as the client sent it, without quotes");
  command->add_option("--scope", options->scope, "Whose key: caller:NAME (all that have it)");
  command->add_option("--hash", options->hash, "Instead of KEY: key or key_hash of a log line");
  command->add_option("--request-id", options->request_id,
                      "Instead of KEY: Pawl-Request-Id, or request_id or execution of a log line");
  command->add_option("--scan", options->scan, "How many records to scan for those two (10000000)");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Example: pawl explain 8e03978e-40d5-43dd-bc93-6894a57f9324 --scope caller:acme\\\n"
      "           --store postgres://pawl@db/pawl\n"
      "         pawl explain --hash 1f3a5c7e9b2d --store postgres://pawl@db/pawl\n"
      "Exit codes: 0 shown, 1 nothing is known of it, or failed, 64 wrong usage.");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace

void add_keys(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("keys", "Inspect single keys, and resolve unknown ones");
  command->require_subcommand(1);
  command->footer(
      "Example: pawl keys list --status dead --store sqlite:pawl.db\n"
      "On call: docs/reconciliation.md");
  auto options = std::make_shared<Options>();
  CLI::App* listing =
      add(*command, "list", "List unknown, dead, in_progress or pending keys", options);
  listing->add_option("--status", options->status, "unknown, dead, in_progress, pending (unknown)");
  listing->add_flag("--dead", options->dead,
                    "All that waits for an operator: unknown, or out of attempts");
  listing->add_option("--limit", options->limit, "How many, oldest first (100)");
  listing->add_flag("--json", options->json, "Print a JSON list");
  listing->callback([options, &exit_code] { exit_code = list(*options); });

  add_show(*command, "show", exit_code);

  auto found = std::make_shared<Options>();
  CLI::App* resolving =
      add_for_key(*command, "resolve", "Say what became of an unknown key", found);
  resolving->add_flag("--completed", found->completed, "It happened; its client gets this answer:");
  resolving->add_option("--status", found->response_status, "The answer's HTTP status, like 201");
  resolving->add_option("--body", found->body_file, "A file with the answer's body");
  resolving->add_option("--content-type", found->content_type, "Its type (application/json)");
  resolving->add_flag("--not-executed", found->not_executed, "It never happened: it may run again");
  add_fence(resolving, found);
  add_reason(resolving, found);
  resolving->footer(
      "Of a half-done flow of libpawl the answer is that of the call whose outcome is\n"
      "unknown: the flow records it and goes on.\n"
      "Example: pawl keys resolve K --scope caller:acme --completed --status 201 \\\n"
      "           --body pay.json --reason \"ch_123 is in the provider's books\" \\\n"
      "           --fence 1794936123000001 --store sqlite:pawl.db\n"
      "Exit codes: 0 resolved, 1 refused or failed, 64 wrong usage.");
  resolving->callback([found, &exit_code] { exit_code = resolve(*found); });

  auto released = std::make_shared<Options>();
  CLI::App* releasing =
      add_for_key(*command, "release", "The same as resolve --not-executed", released);
  add_fence(releasing, released);
  add_reason(releasing, released);
  releasing->callback([released, &exit_code] { exit_code = release(*released); });

  auto asked = std::make_shared<Options>();
  CLI::App* asking =
      add_for_key(*command, "ask", "Have the source asked again about a dead letter", asked);
  add_reason(asking, asked);
  asking->callback([asked, &exit_code] { exit_code = ask(*asked); });

  auto retried = std::make_shared<Options>();
  CLI::App* retrying =
      add_for_key(*command, "retry", "Queue accepted work again that is out of attempts", retried);
  add_reason(retrying, retried);
  retrying->callback([retried, &exit_code] {
    exit_code = handle_dead_letter(*retried, "retry", "retried", requeued);
  });

  auto discard = std::make_shared<Options>();
  CLI::App* discarding = add_for_key(
      *command, "discard", "Give accepted work up for good that is out of attempts", discard);
  add_reason(discarding, discard);
  discarding->callback([discard, &exit_code] {
    exit_code = handle_dead_letter(*discard, "discard", "discarded", discarded);
  });

  auto purged = std::make_shared<Options>();
  CLI::App* purging = add_for_key(*command, "purge", "Forget a finished key", purged);
  purging->add_flag("--forget-answer", purged->forget_answer,
                    "Of a completed key too: a retry executes it again");
  add_reason(purging, purged);
  purging->callback([purged, &exit_code] { exit_code = purge(*purged); });
}

void add_explain(CLI::App& app, int& exit_code) { add_show(app, "explain", exit_code); }

}  // namespace pawl::cmd
