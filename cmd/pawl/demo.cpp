// pawl demo: a tiny payments service and the gateway in front of it, to play with.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/node.hpp"
#include "src/config/serving.hpp"
#include "src/gateway/json_object.hpp"

namespace pawl::cmd {
namespace {

namespace net = boost::asio;

// Charges whatever it is sent, every time it is sent: it knows nothing of idempotency.
class Till final : public http::Handler {
 public:
  Task<void> handle(http::ClientRequest& request) override {
    constexpr std::size_t body_bytes_max = std::size_t{1} << 20;
    const Expected<std::string, http::BodyTrouble> body =
        co_await request.read_body(body_bytes_max);
    if (!body) {
      request.fail();
      co_return;
    }
    Response response;
    response.headers = {{"Content-Type", "application/json"}};
    gateway::JsonObject answer;
    if (request.head.method == "POST") {
      ++charges_;
      response.status = 201;
      answer.text("id", "pay_" + std::to_string(charges_));
    } else {
      response.status = 200;
    }
    response.body = answer.number("charges_made", charges_).done() + "\n";
    co_await request.answer(response);
  }

  Response refused(const http::Refusal&) override {
    Response response;
    response.status = 400;
    return response;
  }

 private:
  std::int64_t charges_ = 0;
};

// The service on a thread of its own.
class TillProcess {
 public:
  Expected<std::uint16_t, std::string> start() {
    Expected<std::uint16_t, std::string> port = listener_.open("127.0.0.1", 0);
    if (!port) return port;
    net::co_spawn(context_, deadlines_.run(), net::detached);
    net::co_spawn(context_, listener_.run(), net::detached);
    thread_ = std::thread([this] { context_.run(); });
    return port;
  }
  ~TillProcess() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  os::SystemClock clock_;
  http::Deadlines deadlines_{clock_};
  Till till_;
  net::io_context context_{1};
  http::ConnectionCount count_{1024, 1024};
  http::SessionGroup sessions_{context_, deadlines_, till_, http::SessionLimits{}, count_};
  http::Listener listener_{context_, {&sessions_}, count_};
  std::thread thread_;
};

constexpr const char* lesson =
    "Behind it is a service that charges a card each time it is called. Try, in\n"
    "another terminal:\n\n"
    "  curl -i -X POST URL/v1/payments -H 'Idempotency-Key: my-first-payment-0001' \\\n"
    "    -H 'Content-Type: application/json' -d '{\"amount\": 1000}'\n\n"
    "and the same again: the answer is replayed, nothing is charged. Ctrl-C ends it.\n";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

int run(const config::Overrides& flags) {
  std::signal(SIGPIPE, SIG_IGN);
  TillProcess till;
  const Expected<std::uint16_t, std::string> port = till.start();
  if (!port) {
    std::cerr << "pawl demo: " << port.error() << '\n';
    return exit_failed;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "pawl-demo-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::cerr << "pawl demo: cannot make a temporary folder\n";
    return exit_failed;
  }
  config::Overrides overrides = flags;
  overrides.upstream = "http://127.0.0.1:" + std::to_string(*port);
  overrides.store = "sqlite:" + folder + "/demo.db";
  const auto read = config::read_for_serving(std::nullopt, overrides);
  if (!read) {
    for (const config::Trouble& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  int exit_code = exit_failed;
  Expected<OpenStore, std::string> store = open_store(read->config.store, false);
  if (store) {
    Node node(read->config, std::move(*store));
    const Expected<Done, std::string> opened = node.open();
    if (opened) {
      std::cout << "listening on " << node.public_url() << "\nadmin on " << node.admin_url()
                << "\n\n"
                << replaced(lesson, "URL", node.public_url()) << std::flush;
      exit_code = node.serve() ? exit_ok : exit_failed;
    } else {
      std::cerr << "pawl demo: " << opened.error() << '\n';
    }
  } else {
    std::cerr << "pawl demo: " << store.error() << '\n';
  }
  std::filesystem::remove_all(folder);
  return exit_code;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<config::Overrides>();
  CLI::App* command = app.add_subcommand("demo", "Try it: a toy payments API behind the gateway");
  command->footer(
      "Keeps its records in a temporary folder and forgets them at the end.\n"
      "Example: pawl demo --listen 127.0.0.1:8080");
  command->add_option("--listen", flags->listen, "ADDRESS:PORT (127.0.0.1:8080); port 0: any");
  command->add_option("--admin", flags->admin, "The operator's ADDRESS:PORT (127.0.0.1:9090)");
  command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace pawl::cmd
