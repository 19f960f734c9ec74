// pawl_provider: a payment processor to practise with. It charges nobody, keeps an honest ledger,
// and fails in all the ways that real ones do, on demand.
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <iostream>

#include "common/address.hpp"
#include "common/service.hpp"
#include "provider/api.hpp"
#include "provider/webhooks.hpp"

namespace pawl::provider {
namespace {

struct Flags {
  std::string listen = "127.0.0.1:8090";
  std::string data = "provider.db";
  std::int64_t key_window_s = 24 * 60 * 60;
  Endpoint endpoint;
  Faults faults;
};

int fail(const std::string& why) {
  std::cerr << "pawl_provider: " << why << '\n';
  return 1;
}

// "drop_after" is --drop-after on the command line.
std::string flag_of(std::string_view name) {
  std::string flag = "--";
  for (const char letter : name) flag += letter == '_' ? '-' : letter;
  return flag;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--listen", flags.listen, "ADDRESS:PORT; port 0: any")->capture_default_str();
  app.add_option("--data", flags.data, "SQLite file")->capture_default_str();
  app.add_option("--key-window", flags.key_window_s, "Seconds for which a key is honoured")
      ->capture_default_str();
  app.add_option("--webhook-url", flags.endpoint.url, "Where events are sent");
  app.add_option("--webhook-secret", flags.endpoint.secret, "What they are signed with");
  for (const Chance& chance : chances) {
    app.add_option(flag_of(chance.name), flags.faults.*chance.value, std::string(chance.what))
        ->group("Accidents, as probabilities");
  }
  for (const Amount& amount : amounts) {
    app.add_option(flag_of(amount.name), flags.faults.*amount.value, std::string(amount.what))
        ->group("Accidents, in milliseconds");
  }
}

int run(const Flags& flags) {
  const std::string trouble = trouble_with(flags.faults);
  if (!trouble.empty()) return fail(trouble);
  Switchboard faults(flags.faults);
  BookOptions options;
  options.key_window_ms = flags.key_window_s * 1000;
  Expected<Book, std::string> book = Book::open(flags.data, options, faults);
  if (!book) return fail(book.error());
  if (!flags.endpoint.url.empty()) {
    const auto url = example::parse_url(flags.endpoint.url);
    if (!url) return fail("--webhook-url: " + url.error());
    if (flags.endpoint.secret.empty()) return fail("--webhook-url needs a --webhook-secret");
    book->set_endpoint(flags.endpoint);
  }
  Api api(*book, faults);
  example::Service service(api);
  const Expected<std::string, std::string> url = service.open(flags.listen);
  if (!url) return fail(url.error());
  Postman postman(service.context(), *book);
  boost::asio::co_spawn(service.context(), postman.run(), boost::asio::detached);
  std::cout << "listening on " << *url << std::endl;
  if (!service.serve()) std::_Exit(1);
  return 0;
}

}  // namespace
}  // namespace pawl::provider

int main(int argc, char** argv) {
  CLI::App app("A payment processor to practise with: charges nobody, fails on demand.");
  pawl::provider::Flags flags;
  pawl::provider::add_flags(app, flags);
  CLI11_PARSE(app, argc, argv);
  try {
    return pawl::provider::run(flags);
  } catch (const std::exception& error) {
    return pawl::provider::fail(error.what());
  }
}
