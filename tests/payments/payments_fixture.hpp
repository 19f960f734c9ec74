// A provider and a payments API beside it, on a store of their own, for each test anew.
#pragma once

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/service_process.hpp"

namespace pawl::e2e {

// What a JSON pointer leads to, as text; "(none)" where it leads nowhere.
std::string at(const std::string& document, std::string_view pointer);

class PaymentsTest : public OnEveryStore {
 protected:
  using Lines = std::vector<std::string>;

  explicit PaymentsTest(const Lines& provider_flags = {});

  // Again on the same store, if there was one before.
  void start_api(const Lines& flags = {}, const Lines& environment = {});

  // Where it was before, so that whoever is in front finds it again.
  void restart_api(const Lines& flags);
  // `pawl worker` on the service's store, with these further tables.
  testing::ServeProcess& start_worker(const std::string& tables);
  testing::Finished outbox(Lines arguments) const;

  // Nothing where it hung up.
  std::optional<HttpAnswer> send(const std::string& path, const std::string& key,
                                 const std::string& body, const std::string& caller = "shop") const;
  std::optional<HttpAnswer> pay(const std::string& key, int amount = 1000) const;
  // Again and again, as a client does, until the answer says that it will not change.
  HttpAnswer insist(const std::string& path, const std::string& key, const std::string& body) const;
  HttpAnswer insist_on_paying(const std::string& key, int amount = 1000) const;
  HttpAnswer read(const std::string& target, const std::string& caller = "shop") const;

  void faults(const std::string& document) const;
  std::string provider_ledger(std::string_view pointer) const;
  // The sum of a kind of posting; "0" where there is none.
  std::string posted(const std::string& kind, const std::string& currency = "EUR") const;
  std::string balance(const std::string& account, const std::string& currency = "EUR") const;

  // In the service's database; "PAWL." is the schema of Pawl's own tables. Throws what SQL refuses.
  std::string query(const std::string& sql) const;
  // The same in the store of the gateways.
  std::string gateway_query(const std::string& sql) const;
  // As if all of them had waited for it.
  void end_leases() const;

  // Money moved as often as this, in everybody's book, and nothing is half done.
  void expect_books(int charges, int refunds = 0) const;

  static std::string body_of(int amount);

  testing::ServiceProcess provider_;
  std::optional<testing::ServiceProcess> api_;
  std::string api_store_;
  std::string provider_url_;  // where the API believes the provider to be

 private:
  void start_api_at(const std::string& address, const Lines& flags, const Lines& environment);

  std::list<testing::ServeProcess> workers_;
};

}  // namespace pawl::e2e
