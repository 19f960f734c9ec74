// pawl demo: the whole of it on this machine, with nothing to install: a payment processor, a
// payments API on libpawl that uses it, and the gateway in front.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/demo_service.hpp"
#include "cmd/pawl/setting_up.hpp"
#include "src/adapters/os/log_sink.hpp"
#include "src/config/serving.hpp"
#include "src/gateway/node.hpp"

namespace pawl::cmd {
namespace {

// What they wrote goes with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-demo-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Ends the demonstration if one of its services does.
class Watch {
 public:
  Watch() : thread_([this] { wait(); }) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { thread_.join(); }  // after the services: there is nothing left to wait for

  // From here on their end is no surprise.
  void stand_down() { stopping_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void wait() {
    siginfo_t info{};
    const int found = ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    if (found != 0 || stopping_) return;
    failed_ = true;
    log_.write("pawl demo: one of its services has ended (process " + std::to_string(info.si_pid) +
               "); so does the rest\n");
    ::kill(::getpid(), SIGTERM);
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<bool> failed_ = false;
  os::LogSink log_;
  std::thread thread_;
};

struct Addresses {
  std::string gateway;
  std::string admin;
  std::string payments;
  std::string provider;
};

constexpr const char* lesson = R"(In another terminal, with bash:

  pay() { curl -si GATEWAY/v1/payments -H 'Authorization: Bearer shop' \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
    -d "{\"customer\": \"cus_1\", \"amount\": ${2:-1000}, \"currency\": \"EUR\"}"; echo; }

  pay order-17-payment-1             # pay: 201
  pay order-17-payment-1             # retry: the same answer, Idempotent-Replayed: true
  pay order-17-payment-1 2000        # reuse the key for something else: 422
  export -f pay; seq 20 | xargs -P 20 -I{} bash -c 'pay order-18-payment-1 | head -1'   # race
  curl -s PROVIDER/_faults -d '{"next": ["drop_after"]}'; pay order-19-payment-1; pay order-19-payment-1
                                     # crash: charged, the answer lost; the retry finds it
  curl -s PROVIDER/v1/ledger         # how often money moved: 3

Ctrl-C stops all three.
)";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
  return text;
}

void tell(const Addresses& at) {
  std::cout << "listening on " << at.gateway << "\nadmin on " << at.admin << "\n\n"
            << "gateway   " << at.gateway << "  what clients talk to\n"
            << "payments  " << at.payments << "  the payments API behind it\n"
            << "provider  " << at.provider << "  the payment processor behind that\n\n"
            << replaced(replaced(lesson, "GATEWAY", at.gateway), "PROVIDER", at.provider)
            << std::flush;
}

int fail(const std::string& why) {
  std::cerr << "pawl demo: " << why << '\n';
  return exit_failed;
}

Expected<std::string, std::string> start(DemoService& service, const std::string& program,
                                         std::vector<std::string> flags, const Folder& folder) {
  const Expected<std::filesystem::path, std::string> path = find_demo_program(program);
  if (!path) return Unexpected{path.error()};
  flags.insert(flags.begin(), {path->string(), "--listen", "127.0.0.1:0"});
  return service.start(flags, folder / (program + ".log"));
}

int serve(const config::Config& config, Addresses& at) {
  OpenStoreOptions opening;
  opening.when_old = OpenStoreOptions::WhenOld::migrate;
  opening.create = true;
  Expected<OpenStore, std::string> store = open_store(config.store, opening);
  if (!store) return fail(store.error());
  gateway::Node node(config, std::move(*store));
  const Expected<Done, std::string> opened = node.open();
  if (!opened) return fail(opened.error());
  at.gateway = node.public_url();
  at.admin = node.admin_url();
  tell(at);
  // Requests that would not end still hold references to everything: leave without destructors.
  if (!node.serve()) std::_Exit(exit_failed);
  return exit_ok;
}

int run(const config::Overrides& flags) {
  prepare_process();
  const Folder folder;
  std::optional<Watch> watch;  // ends last of all
  // From the inside out; they end in the opposite order, so that nothing calls what has ended.
  DemoService provider;
  DemoService payments;
  Addresses at;
  Expected<std::string, std::string> started =
      start(provider, "pawl_provider", {"--data", folder / "provider.db"}, folder);
  if (!started) return fail(started.error());
  at.provider = *started;
  started =
      start(payments, "pawl_payments",
            {"--store", "sqlite:" + (folder / "payments.db"), "--provider", at.provider}, folder);
  if (!started) return fail(started.error());
  at.payments = *started;

  config::Overrides overrides = flags;
  overrides.upstream = at.payments;
  overrides.store = "sqlite:" + (folder / "gateway.db");
  const auto read = config::read_for_serving(std::nullopt, overrides);
  if (!read) {
    for (const config::Diagnostic& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  watch.emplace();
  const int exit_code = serve(read->config, at);
  watch->stand_down();
  return watch->failed() ? exit_failed : exit_code;
}

}  // namespace

void add_demo(Command& app, int& exit_code) {
  auto flags = std::make_shared<config::Overrides>();
  Command* command = app.add_subcommand("demo", "Try it: a payments API, with Pawl in front of it");
  command->footer(
      "Keeps everything in a temporary folder and forgets it at the end.\n"
      "Example: pawl demo --listen 127.0.0.1:8080");
  command->add_option("--listen", flags->listen, "ADDRESS:PORT (127.0.0.1:8080); port 0: any");
  command->add_option("--admin", flags->admin, "The operator's ADDRESS:PORT (127.0.0.1:9090)");
  command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace pawl::cmd
