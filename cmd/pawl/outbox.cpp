// pawl outbox: what waits to be sent, what could not be, and an operator's word about it.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/outbox_text.hpp"
#include "src/adapters/postgres/outbox_store.hpp"
#include "src/adapters/sqlite/outbox_store.hpp"
#include "src/config/secrets.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string store;
  bool json = false;
  std::optional<std::string> status;
  std::optional<std::string> destination;
  bool discarded = false;
  std::size_t limit = 100;
  std::string id;
  std::string reason;
  std::optional<std::string> actor;
  OutboxOrder order;
};

constexpr std::string_view sqlite_prefix = "sqlite:";

int failed(const std::string& what, int code = exit_failed) {
  std::cerr << "pawl outbox: " << what << '\n';
  return code;
}

std::unique_ptr<OutboxStore> outbox_in(const std::string& url) {
  if (url.starts_with(sqlite_prefix)) {
    return std::make_unique<sqlite::SqliteOutbox>(url.substr(sqlite_prefix.size()));
  }
  postgres::Options options;
  options.allow_lossy_store = true;  // whoever serves has decided about that
  return std::make_unique<postgres::PostgresOutbox>(url, options);
}

int list(const Options& options) {
  OutboxQuery query;
  if (options.status) {
    query.status = from_text<OutboxStatus>(*options.status);
    if (!query.status) {
      return failed("--status is \"" + *options.status +
                        "\"; it must be pending, sending, done, dead or unknown",
                    exit_usage);
    }
  }
  query.destination = options.destination;
  query.discarded = options.discarded;
  query.rows_max = options.limit;
  const std::unique_ptr<OutboxStore> outbox = outbox_in(options.store);
  const Expected<std::vector<OutboxRow>, std::string> rows = outbox->list(query);
  if (!rows) return failed(rows.error());
  const Expected<Instant, std::string> now = outbox->time();
  if (!now) return failed(now.error());
  std::cout << (options.json ? list_json(*rows) + "\n" : list_text(*rows, *now));
  return exit_ok;
}

int show(const Options& options) {
  const std::unique_ptr<OutboxStore> outbox = outbox_in(options.store);
  const Expected<std::optional<OutboxRow>, std::string> row = outbox->find(options.id);
  if (!row) return failed(row.error());
  if (!*row) return failed("there is no outbox row " + options.id);
  const Expected<Instant, std::string> now = outbox->time();
  if (!now) return failed(now.error());
  std::cout << (options.json ? row_json(**row) + "\n" : row_text(**row, *now));
  return exit_ok;
}

int change(const Options& options) {
  if (options.reason.find_first_not_of(" \t") == std::string::npos) {
    return failed("--reason is empty; say why, for readers of the audit", exit_usage);
  }
  const std::unique_ptr<OutboxStore> outbox = outbox_in(options.store);
  const OutboxAuthor author{options.actor.value_or(current_user()), options.reason};
  const Expected<OutboxRow, std::string> row = outbox->change(
      options.id, options.order.action, author,
      [&](const OutboxRow& before, Instant now) { return ordered(before, options.order, now); });
  if (!row) return failed(options.id + ": " + row.error());
  const Expected<Instant, std::string> now = outbox->time();
  if (!now) return failed(now.error());
  std::cout << (options.json ? row_json(*row) + "\n" : row_text(*row, *now));
  return exit_ok;
}

int with_store(Options options, int (*command)(const Options&)) {
  Expected<std::string, std::string> store = config::expand_store(options.store);
  if (!store) return failed("--store: " + store.error());
  options.store = std::move(*store);
  return command(options);
}

void add_common(CLI::App& command, Options& options) {
  command.add_option("--store", options.store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  command.add_flag("--json", options.json, "Print one JSON object");
}

void add_list(CLI::App& outbox, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = outbox.add_subcommand("list", "Rows, the oldest first");
  command->footer(
      "Example: pawl outbox list --store sqlite:pawl.db --status dead\n"
      "Exit codes: 0 listed, 1 failed, 64 wrong usage.");
  add_common(*command, *options);
  command->add_option("--status", options->status, "pending, sending, done, dead or unknown");
  command->add_option("--destination", options->destination, "Only rows for this one");
  command->add_flag("--discarded", options->discarded, "Those that were discarded too");
  command->add_option("--limit", options->limit, "At most so many (100)");
  command->callback([options, &exit_code] { exit_code = with_store(*options, list); });
}

void add_show(CLI::App& outbox, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = outbox.add_subcommand("show", "One row: what is known, what happens next");
  command->footer(
      "Bodies and header values are not shown.\n"
      "Example: pawl outbox show 6f1d... --store sqlite:pawl.db\n"
      "Exit codes: 0 shown, 1 failed or no such row, 64 wrong usage.");
  add_common(*command, *options);
  command->add_option("ID", options->id, "As `pawl outbox list` prints it")->required();
  command->callback([options, &exit_code] { exit_code = with_store(*options, show); });
}

std::shared_ptr<Options> add_change(CLI::App& outbox, int& exit_code, OutboxAction action,
                                    const char* name, const char* what, const char* footer,
                                    CLI::App*& command) {
  auto options = std::make_shared<Options>();
  options->order.action = action;
  command = outbox.add_subcommand(name, what);
  command->footer(footer);
  add_common(*command, *options);
  command->add_option("ID", options->id, "As `pawl outbox list` prints it")->required();
  command->add_option("--reason", options->reason, "Why: it is kept in the audit")->required();
  command->add_option("--actor", options->actor, "Who, if not the one at the keyboard");
  command->callback([options, &exit_code] { exit_code = with_store(*options, change); });
  return options;
}

}  // namespace

void add_outbox(CLI::App& app, int& exit_code) {
  CLI::App* outbox = app.add_subcommand("outbox", "Inspect and settle outbox messages");
  outbox->require_subcommand(1);
  outbox->footer(
      "Example: pawl outbox list --store sqlite:pawl.db --status dead\n"
      "What an operator does with dead letters: docs/outbox.md");
  add_list(*outbox, exit_code);
  add_show(*outbox, exit_code);
  CLI::App* command = nullptr;
  const auto retry = add_change(
      *outbox, exit_code, OutboxAction::retry, "retry", "Send a dead letter again, now",
      "It is sent under the key it always had. What may have happened is sent again only\n"
      "where the destination dedupes and its dedupe_window is not over; an unknown one\n"
      "only if you say that you have checked there.\n"
      "Example: pawl outbox retry 6f1d... --store sqlite:pawl.db --reason \"account fixed\"\n"
      "Exit codes: 0 done, 1 failed or it makes no sense, 64 wrong usage.",
      command);
  command->add_flag("--nothing-happened", retry->order.nothing_happened,
                    "The destination was asked, and never did it");
  add_change(*outbox, exit_code, OutboxAction::discard, "discard", "Want no more of a row",
             "It stays in the store, and is never sent.\n"
             "Example: pawl outbox discard 6f1d... --store sqlite:pawl.db --reason \"refunded\"\n"
             "Exit codes: 0 done, 1 failed or it makes no sense, 64 wrong usage.",
             command);
  const auto confirm = add_change(
      *outbox, exit_code, OutboxAction::confirm, "confirm", "It did happen: mark a row done",
      "For an unknown row, or a dead letter, that the destination turns out to have done.\n"
      "Example: pawl outbox confirm 6f1d... --store sqlite:pawl.db --provider-id ch_7 \\\n"
      "           --reason \"found by its derived key\"\n"
      "Exit codes: 0 done, 1 failed or it makes no sense, 64 wrong usage.",
      command);
  command->add_option("--provider-id", confirm->order.provider_id, "What the destination calls it");
}

}  // namespace pawl::cmd
