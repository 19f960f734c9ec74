// pawl_payments: a payments API on libpawl, with PostgreSQL or SQLite under it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <list>

#include "common/service.hpp"
#include "payments/api.hpp"
#include "payments/crash.hpp"
#include "payments/flows.hpp"
#include "payments/schema.hpp"

namespace pawl::payments {
namespace {

struct Flags {
  std::string listen = "127.0.0.1:8070";
  std::string store = "sqlite:payments.db";
  std::string provider = "http://127.0.0.1:8090";
  std::string receipts;
  std::int64_t lease_ms = 30'000;
  std::int64_t provider_timeout_ms = 10'000;
  std::int64_t wait_ms = 10'000;
  std::int64_t complete_every_ms = 5'000;
  bool allow_lossy_store = false;
};

std::chrono::milliseconds ms(std::int64_t count) { return std::chrono::milliseconds(count); }

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--listen", flags.listen, "ADDRESS:PORT; port 0: any")->capture_default_str();
  app.add_option("--store", flags.store, "sqlite:FILE or postgres://...")->capture_default_str();
  app.add_option("--provider", flags.provider, "The payment processor")->capture_default_str();
  app.add_option("--receipts", flags.receipts,
                 "The outbox's destination that gets a receipt for each payment; a pawl worker on "
                 "the same store sends it (none)");
  app.add_option("--lease-ms", flags.lease_ms, "How long a dead owner keeps its request")
      ->capture_default_str();
  app.add_option("--provider-timeout-ms", flags.provider_timeout_ms, "How long a call may take")
      ->capture_default_str();
  app.add_option("--wait-ms", flags.wait_ms, "How long a duplicate waits for the first one")
      ->capture_default_str();
  app.add_option("--complete-every-ms", flags.complete_every_ms,
                 "How often abandoned requests are polled for; 0: never")
      ->capture_default_str();
  app.add_flag("--allow-lossy-store", flags.allow_lossy_store, "Accept fsync = off; for tests");
}

NodeOptions node_options(const Flags& flags) {
  NodeOptions options;
  options.allow_lossy_store = flags.allow_lossy_store;
  options.migrate = true;
  options.flow_threads = 16;  // each waits for the provider
  options.connections = 16;
  options.at_point = crash_point;
  return options;
}

FlowOptions flow_options(const Flags& flags, const std::string& name) {
  FlowOptions options;
  options.name = name;
  options.policy.lease = ms(flags.lease_ms);
  options.policy.upstream_timeout = ms(flags.provider_timeout_ms);
  options.policy.in_flight = WhenInFlight::wait;  // a duplicate gets the answer, not a conflict
  options.wait_limit = ms(flags.wait_ms);
  return options;
}

int run(const Flags& flags) {
  const Node node = open(flags.store, node_options(flags));
  node.transact([](Database& database) { database.execute(schema); });
  const Destination provider = http_destination(node, flags.provider);

  Flow pay(node, flow_options(flags, "payments"));
  Flow refund(node, flow_options(flags, "refunds"));
  Flow cancel(node, flow_options(flags, "cancellations"));
  Flow transfer(node, flow_options(flags, "transfers"));
  declare_pay(pay, provider, flags.receipts);
  declare_refund(refund, provider);
  declare_cancel(cancel, provider);
  declare_transfer(transfer);

  // They finish what a dead process left behind, also where the client never comes back.
  std::list<Completer> completers;
  if (flags.complete_every_ms > 0) {
    for (Flow* flow : {&pay, &refund, &cancel, &transfer}) {
      completers.emplace_back(*flow, ms(flags.complete_every_ms));
    }
  }
  Api api(node, Flows{pay, refund, cancel, transfer});
  example::Service service(api);
  const Expected<std::string, std::string> url = service.open(flags.listen);
  if (!url) throw std::runtime_error(url.error());
  std::cout << "listening on " << *url << std::endl;
  if (!service.serve()) std::_Exit(1);
  return 0;
}

}  // namespace
}  // namespace pawl::payments

int main(int argc, char** argv) {
  CLI::App app("A payments API on libpawl: hold, charge, capture; refund, cancel, transfer.");
  pawl::payments::Flags flags;
  pawl::payments::add_flags(app, flags);
  CLI11_PARSE(app, argc, argv);
  try {
    return pawl::payments::run(flags);
  } catch (const std::exception& error) {
    std::cerr << "pawl_payments: " << error.what() << '\n';
    return 1;
  }
}
