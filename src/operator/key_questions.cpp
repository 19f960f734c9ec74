#include "src/operator/key_questions.hpp"

#include "src/core/encoding.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl {
namespace {

constexpr std::size_t scopes_max = 10'000;  // searched for a key that is not where it should be
constexpr std::size_t hash_digits_min = 6;

// What is on record beside the record itself.
Task<OrRefusal<Done>> add_history(ReconciliationStore& cases, KeyFacts& facts) {
  auto about = co_await cases.find(facts.scope, facts.key);
  if (!about) co_return port_failed(cases, about.error());
  facts.about = std::move(*about);
  auto notes = co_await cases.notes_of(facts.scope, facts.key);
  if (!notes) co_return port_failed(cases, notes.error());
  facts.notes = std::move(*notes);
  auto audit = co_await cases.audit_of(facts.scope, facts.key);
  if (!audit) co_return port_failed(cases, audit.error());
  facts.audit = std::move(*audit);
  auto evidence = co_await cases.evidence_of(facts.scope, facts.key);
  if (!evidence) co_return port_failed(cases, evidence.error());
  facts.evidence = std::move(*evidence);
  const std::string subject = reconcile::derived_key(facts.scope, facts.key);
  auto events = co_await cases.events_of(subject);
  if (!events) co_return port_failed(cases, events.error());
  facts.events = std::move(*events);
  co_return Done{};
}

// Why there is no record: it is elsewhere, or the store may have forgotten it.
Task<OrRefusal<Done>> add_absence(KeyPorts ports, KeyFacts& facts) {
  auto elsewhere = co_await ports.directory.scopes_of(facts.key, scopes_max);
  if (!elsewhere) co_return port_failed(ports.directory, elsewhere.error());
  facts.elsewhere = std::move(*elsewhere);
  const auto restored = co_await recorded_restoration(ports.upkeep);
  if (!restored) co_return unavailable(restored.error());
  if (*restored && facts.now < (*restored)->until) facts.forgotten_since = (*restored)->since;
  co_return Done{};
}

Task<OrRefusal<KeyFacts>> facts_of(KeyPorts ports, KeyName name, std::string store) {
  KeyFacts facts;
  facts.scope = std::move(name.scope);
  facts.key = std::move(name.key);
  facts.store = std::move(store);
  const OrRefusal<Instant> now = co_await time_of(ports.store);
  if (!now) co_return Unexpected{now.error()};
  facts.now = *now;
  if (!facts.scope.text.empty()) {
    StoreResult<std::optional<Record>> record = co_await ports.store.find(facts.scope, facts.key);
    if (!record && record.error() == StoreError::unreadable) {
      co_return unavailable(
          "the record cannot be understood: it is corrupt, or a newer pawl wrote it");
    }
    if (!record) co_return store_failed(record.error());
    facts.record = std::move(*record);
  }
  if (!facts.record) {
    const OrRefusal<Done> added = co_await add_absence(ports, facts);
    if (!added) co_return Unexpected{added.error()};
  }
  const OrRefusal<Done> added = co_await add_history(ports.cases, facts);
  if (!added) co_return Unexpected{added.error()};
  co_return facts;
}

Task<OrRefusal<Explanation>> explain_named(KeyPorts ports, KeyName name, std::string store) {
  OrRefusal<KeyFacts> facts = co_await facts_of(ports, std::move(name), std::move(store));
  if (!facts) co_return Unexpected{facts.error()};
  ExplainedKey explained;
  explained.facts = std::move(*facts);
  co_return Explanation(std::move(explained));
}

Task<OrRefusal<Explanation>> explain_found(KeyPorts ports, FoundKey found, std::string store) {
  const KeyName name{found.key.scope, found.key.key};
  OrRefusal<KeyFacts> facts = co_await facts_of(ports, name, std::move(store));
  if (!facts) co_return Unexpected{facts.error()};
  ExplainedKey explained;
  explained.facts = std::move(*facts);
  if (found.attempt != found.key.attempt) explained.earlier_attempt = found.attempt;
  co_return Explanation(std::move(explained));
}

// By what a line of the log says.
Task<OrRefusal<Explanation>> explain_logged(KeyPorts ports, KeyQuestion question) {
  KeySearch search;
  search.hash = question.hash;
  search.request_id = question.request_id;
  search.keys_max = question.scan;
  if (!question.scope.empty()) search.scope = Scope{question.scope};
  OrRefusal<FoundKeys> found = co_await search_keys(ports.directory, search);
  if (!found) co_return Unexpected{found.error()};
  if (found->keys.size() == 1) {
    co_return co_await explain_found(ports, found->keys.front(), question.store);
  }
  co_return Explanation(AmbiguousKey{std::move(*found), std::move(search)});
}

// A key that no scope has may be what a line of the log has in a key's place.
Task<OrRefusal<std::optional<FoundKey>>> logged_as(KeyDirectory& directory, std::string text) {
  KeySearch search;
  if (looks_like_hash(text)) {
    search.hash = text;
  } else if (looks_like_request_id(text)) {
    search.request_id = text;
  } else {
    co_return std::optional<FoundKey>();
  }
  const OrRefusal<FoundKeys> found = co_await search_keys(directory, search);
  if (!found) co_return Unexpected{found.error()};
  if (found->keys.size() != 1) co_return std::optional<FoundKey>();
  co_return std::optional(found->keys.front());
}

}  // namespace

OrRefusal<Listed> list_named(const std::string& status, bool dead) {
  if (dead) return Listed::dead;
  const std::optional<Listed> which = from_text<Listed>(status);
  if (which) return *which;
  return malformed("--status is \"" + status +
                   "\"; lists are made of unknown, dead, in_progress and pending keys. For "
                   "any other, show the key itself: pawl keys show");
}

Task<OrRefusal<KeyList>> list_keys(KeyPorts ports, Listed which, std::size_t keys_max) {
  const OrRefusal<Instant> now = co_await time_of(ports.store);
  if (!now) co_return Unexpected{now.error()};
  StoreResult<std::vector<ListedKey>> keys = co_await ports.directory.list(which, keys_max);
  if (!keys) co_return port_failed(ports.directory, keys.error());
  const bool whole = keys->size() < keys_max;
  co_return KeyList{*now, std::move(*keys), whole};
}

std::optional<Refusal> check_question(const KeyQuestion& question) {
  const int named = static_cast<int>(!question.key.empty()) +
                    static_cast<int>(!question.hash.empty()) +
                    static_cast<int>(!question.request_id.empty());
  if (named != 1) {
    return malformed("say which key: KEY, or --hash or --request-id of a line of the log").error;
  }
  const bool is_hash = all_hex(question.hash, HexCase::lower);
  if (!question.hash.empty() && (!is_hash || question.hash.size() < hash_digits_min)) {
    return malformed("--hash is the log's key or key_hash: 6 to 12 hexadecimal digits").error;
  }
  return std::nullopt;
}

bool ExplainedKey::is_known() const {
  return facts.record || !facts.audit.empty() || !facts.notes.empty() || !facts.evidence.empty() ||
         !facts.events.empty();
}

Task<OrRefusal<Explanation>> explain_key(KeyPorts ports, KeyQuestion question) {
  if (const std::optional<Refusal> wrong = check_question(question)) co_return Unexpected{*wrong};
  if (question.key.empty()) co_return co_await explain_logged(ports, question);
  KeyName name{Scope{question.scope}, Key{question.key}};
  if (!question.scope.empty()) {
    const StoreResult<std::optional<Record>> record =
        co_await ports.store.find(name.scope, name.key);
    if (!record || *record) co_return co_await explain_named(ports, name, question.store);
  }
  const StoreResult<ScopesOfKey> holders = co_await ports.directory.scopes_of(name.key, scopes_max);
  if (!holders) co_return port_failed(ports.directory, holders.error());
  if (question.scope.empty() && holders->scopes.size() == 1) name.scope = holders->scopes.front();
  if (holders->scopes.empty()) {
    const OrRefusal<std::optional<FoundKey>> logged =
        co_await logged_as(ports.directory, question.key);
    if (!logged) co_return Unexpected{logged.error()};
    if (*logged) co_return co_await explain_found(ports, **logged, question.store);
  }
  co_return co_await explain_named(ports, name, question.store);
}

}  // namespace pawl
