// pawl outbox: what waits to be sent, what could not be, and an operator's word about it.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/operator/outbox_document.hpp"
#include "src/operator/outbox_orders.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string store;
  std::string keys_file;
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

constexpr const char* self = "pawl outbox";

int list(const Options& options) {
  OutboxQuery query;
  if (options.status) {
    const OrRefusal<OutboxStatus> status = outbox_status_named(*options.status);
    if (!status) return failed(self, status.error());
    query.status = *status;
  }
  query.destination = options.destination;
  query.discarded = options.discarded;
  query.rows_max = options.limit;
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OpenStore& open = (*store)->open;
  const OrRefusal<OutboxListing> listing = run_here(list_outbox(*open.store, *open.outbox, query));
  if (!listing) return failed(self, listing.error());
  std::cout << (options.json ? outbox_list_json(listing->rows) + "\n"
                             : outbox_list(listing->rows, listing->now));
  return exit_ok;
}

int print(const OrRefusal<OutboxMessage>& message, bool json) {
  if (!message) return failed(self, message.error());
  std::cout << (json ? outbox_row_json(message->row) + "\n"
                     : outbox_row(message->row, message->now));
  return exit_ok;
}

int show(const Options& options) {
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OpenStore& open = (*store)->open;
  return print(run_here(show_outbox(*open.store, *open.outbox, options.id)), options.json);
}

int change(const Options& options) {
  if (const auto wrong = check_outbox_reason(options.reason)) return failed(self, *wrong);
  const auto store = open_given(options.store, options.keys_file);
  if (!store) return failed(self, store.error());
  const OutboxChange change{
      options.id,
      options.order,
      OrderedBy{options.actor ? *options.actor : current_user(), options.reason},
  };
  const OpenStore& open = (*store)->open;
  return print(run_here(change_outbox(*open.store, *open.outbox, change)), options.json);
}

void add_common(Command& command, Options& options) {
  command.add_option("--store", options.store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  command.add_option("--keys-file", options.keys_file, keys_file_words);
  command.add_flag("--json", options.json, "Print one JSON object");
}

void add_list(Command& outbox, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = outbox.add_subcommand("list", "Rows, the oldest first");
  command->footer(
      "Example: pawl outbox list --store sqlite:pawl.db --status dead\n"
      "Exit codes: 0 listed, 1 failed, 64 wrong usage.");
  add_common(*command, *options);
  command->add_option("--status", options->status, "pending, sending, done, dead or unknown");
  command->add_option("--destination", options->destination, "Only rows for this one");
  command->add_flag("--discarded", options->discarded, "Those that were discarded too");
  command->add_option("--limit", options->limit, "At most so many (100)");
  command->callback([options, &exit_code] { exit_code = list(*options); });
}

void add_show(Command& outbox, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = outbox.add_subcommand("show", "One row: what is known, what happens next");
  command->footer(
      "Bodies and header values are not shown.\n"
      "Example: pawl outbox show 6f1d... --store sqlite:pawl.db\n"
      "Exit codes: 0 shown, 1 failed or no such row, 64 wrong usage.");
  add_common(*command, *options);
  command->add_option("ID", options->id, "As `pawl outbox list` prints it")->required();
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

std::shared_ptr<Options> add_change(Command& outbox, int& exit_code, OutboxAction action,
                                    const char* name, const char* what, const char* footer,
                                    Command*& command) {
  auto options = std::make_shared<Options>();
  options->order.action = action;
  command = outbox.add_subcommand(name, what);
  command->footer(footer);
  add_common(*command, *options);
  command->add_option("ID", options->id, "As `pawl outbox list` prints it")->required();
  command->add_option("--reason", options->reason, "Why: it is kept in the audit")->required();
  command->add_option("--actor", options->actor, "Who, if not the one at the keyboard");
  command->callback([options, &exit_code] { exit_code = change(*options); });
  return options;
}

}  // namespace

void add_outbox(Command& app, int& exit_code) {
  Command* outbox = app.add_subcommand("outbox", "Inspect and settle outbox messages");
  outbox->require_subcommand();
  outbox->footer(
      "Example: pawl outbox list --store sqlite:pawl.db --status dead\n"
      "What an operator does with dead letters: docs/outbox.md");
  add_list(*outbox, exit_code);
  add_show(*outbox, exit_code);
  Command* command = nullptr;
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
