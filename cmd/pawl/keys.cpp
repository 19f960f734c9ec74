// pawl keys, pawl explain: what an operator sees and does about single keys.
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/config/files.hpp"
#include "src/operator/key_history.hpp"
#include "src/operator/key_orders.hpp"
#include "src/operator/key_questions.hpp"
#include "src/operator/resolve_key.hpp"

namespace pawl::cmd {
namespace {

constexpr const char* self = "pawl keys";

struct Options {
  std::string store;
  std::string keys_file;
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
  std::int64_t fence = 0;  // of the attempt that was investigated; 0: not said
  int response_status = 0;
  std::string body_file;
  std::string content_type = "application/json";
  // purge
  bool forget_answer = false;
};

KeyName name_in(const Options& options) { return {Scope{options.scope}, Key{options.key}}; }

OrderedBy author_of(const Options& options) {
  return {options.actor.empty() ? current_user() : options.actor, options.reason};
}

int list(const Options& options) {
  const OrRefusal<Listed> which = list_named(options.status, options.dead);
  if (!which) return failed(self, which.error());
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OrRefusal<KeyList> list = run_here(list_keys((*store)->keys(), *which, options.limit));
  if (!list) return failed(self, list.error());
  std::cout << (options.json ? key_list_json(list->keys) : key_list(list->keys, list->now));
  if (!list->whole) {
    std::cerr << "pawl keys: these are the oldest " << options.limit
              << "; there may be more: --limit\n";
  }
  return exit_ok;
}

int print(const ExplainedKey& explained, bool json) {
  if (!json && explained.earlier_attempt != 0) {
    std::cout << "It was attempt " << explained.earlier_attempt
              << " at this key; there was another since.\n\n";
  }
  std::cout << (json ? key_history_json(explained.facts) : key_history(explained.facts));
  return explained.is_known() ? exit_ok : exit_failed;
}

int show(const Options& options) {
  const KeyQuestion question{options.key,        options.scope, options.hash,
                             options.request_id, options.scan,  options.store};
  if (const auto wrong = check_question(question)) return failed(self, *wrong);
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OrRefusal<Explanation> explanation = run_here(explain_key((*store)->keys(), question));
  if (!explanation) return failed(self, explanation.error());
  if (const auto* explained = std::get_if<ExplainedKey>(&*explanation)) {
    return print(*explained, options.json);
  }
  const auto& [found, search] = std::get<AmbiguousKey>(*explanation);
  std::cout << (options.json ? found_keys_json(found) : found_keys(found, search, options.store));
  return exit_failed;
}

int resolve(const Options& options) {
  ResolveOrder order;
  order.name = name_in(options);
  order.completed = options.completed;
  order.not_executed = options.not_executed;
  order.response_status = options.response_status;
  if (!options.body_file.empty()) order.body = "";  // it is read once all else is right
  order.content_type = options.content_type;
  if (options.fence != 0) order.fence = Fence{options.fence};
  order.by = author_of(options);
  if (const auto wrong = check_resolve(order)) return failed(self, *wrong);
  if (order.body) {
    Expected<std::string, std::string> body = config::read_file(options.body_file);
    if (!body) {
      return failed(self, "--body " + options.body_file + " " + body.error(), exit_usage);
    }
    order.body = std::move(*body);
  }
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OrRefusal<ResolvedKey> resolved =
      run_here(resolve_key((*store)->keys(), *(*store)->engine, std::move(order)));
  if (!resolved) return failed(self, resolved.error());
  if (!resolved->warning.empty()) failed(self, resolved->warning);
  std::cout << resolved_text(*resolved);
  return exit_ok;
}

int release(Options options) {
  options.not_executed = true;
  options.completed = false;
  return resolve(options);
}

int purge(const Options& options) {
  if (const auto wrong = check_reason(options.reason)) return failed(self, *wrong);
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const PurgeOrder order{name_in(options), options.forget_answer, author_of(options)};
  const OrRefusal<Done> purged = run_here(purge_key((*store)->keys(), order));
  if (!purged) return failed(self, purged.error());
  std::cout
      << "purged: a request with this key is new. Nodes that have its answer in memory forget "
         "it within seconds\n";
  return exit_ok;
}

int handle(const Options& options, DeadLetterAction action) {
  if (const auto wrong = check_reason(options.reason)) return failed(self, *wrong);
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const DeadLetterOrder order{name_in(options), action, author_of(options)};
  const OrRefusal<Status> became = run_here(handle_dead_letter((*store)->keys(), order));
  if (!became) return failed(self, became.error());
  std::cout << dead_letter_text(action, *became);
  return exit_ok;
}

int ask(const Options& options) {
  if (const auto wrong = check_reason(options.reason)) return failed(self, *wrong);
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const ReopenOrder order{name_in(options), author_of(options)};
  const OrRefusal<Done> reopened = run_here(reopen_key((*store)->keys(), order));
  if (!reopened) return failed(self, reopened.error());
  std::cout << "its source is asked again, at the next poll of any node\n";
  return exit_ok;
}

Command* add(Command& parent, const char* name, const char* what,
             const std::shared_ptr<Options>& options) {
  Command* command = parent.add_subcommand(name, what);
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  command->add_option("--keys-file", options->keys_file, keys_file_words);
  return command;
}

Command* add_for_key(Command& parent, const char* name, const char* what,
                     const std::shared_ptr<Options>& options) {
  Command* command = add(parent, name, what, options);
  command->add_option("KEY", options->key, "The key, as the client sent it, without quotes")
      ->required();
  command->add_option("--scope", options->scope, "Whose key: caller:NAME, as lists show it")
      ->required();
  return command;
}

void add_reason(Command* command, const std::shared_ptr<Options>& options) {
  command->add_option("--reason", options->reason, "Why; kept with your name")->required();
  command->add_option("--actor", options->actor, "Who does it (you, on this machine)");
}

void add_fence(Command* command, const std::shared_ptr<Options>& options) {
  command
      ->add_option(
          "--fence", options->fence,
          "Which attempt you investigated, as lists and explain show it: refused where the "
          "key was executed again since. Needed to say that it was not executed")
      ->positive();
}

void add_show(Command& parent, const char* name, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = add(parent, name, "Show the history of one key in plain words", options);
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

void add_keys(Command& app, int& exit_code) {
  Command* command = app.add_subcommand("keys", "Inspect single keys, and resolve unknown ones");
  command->require_subcommand();
  command->footer(
      "Example: pawl keys list --status dead --store sqlite:pawl.db\n"
      "On call: docs/reconciliation.md");
  auto options = std::make_shared<Options>();
  Command* listing =
      add(*command, "list", "List unknown, dead, in_progress or pending keys", options);
  listing->add_option("--status", options->status, "unknown, dead, in_progress, pending (unknown)");
  listing->add_flag("--dead", options->dead,
                    "All that waits for an operator: unknown, or out of attempts");
  listing->add_option("--limit", options->limit, "How many, oldest first (100)");
  listing->add_flag("--json", options->json, "Print a JSON list");
  listing->callback([options, &exit_code] { exit_code = list(*options); });

  add_show(*command, "show", exit_code);

  auto found = std::make_shared<Options>();
  Command* resolving = add_for_key(*command, "resolve", "Say what became of an unknown key", found);
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
  Command* releasing =
      add_for_key(*command, "release", "The same as resolve --not-executed", released);
  add_fence(releasing, released);
  add_reason(releasing, released);
  releasing->callback([released, &exit_code] { exit_code = release(*released); });

  auto asked = std::make_shared<Options>();
  Command* asking =
      add_for_key(*command, "ask", "Have the source asked again about a dead letter", asked);
  add_reason(asking, asked);
  asking->callback([asked, &exit_code] { exit_code = ask(*asked); });

  auto retried = std::make_shared<Options>();
  Command* retrying =
      add_for_key(*command, "retry", "Queue accepted work again that is out of attempts", retried);
  add_reason(retrying, retried);
  retrying->callback(
      [retried, &exit_code] { exit_code = handle(*retried, DeadLetterAction::retry); });

  auto discard = std::make_shared<Options>();
  Command* discarding = add_for_key(
      *command, "discard", "Give accepted work up for good that is out of attempts", discard);
  add_reason(discarding, discard);
  discarding->callback(
      [discard, &exit_code] { exit_code = handle(*discard, DeadLetterAction::discard); });

  auto purged = std::make_shared<Options>();
  Command* purging = add_for_key(*command, "purge", "Forget a finished key", purged);
  purging->add_flag("--forget-answer", purged->forget_answer,
                    "Of a completed key too: a retry executes it again");
  add_reason(purging, purged);
  purging->callback([purged, &exit_code] { exit_code = purge(*purged); });

  add_rewrap(*command, exit_code);
}

void add_explain(Command& app, int& exit_code) { add_show(app, "explain", exit_code); }

}  // namespace pawl::cmd
