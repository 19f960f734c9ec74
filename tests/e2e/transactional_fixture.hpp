// Gateways, a PostgreSQL and a service that commits through pawl.complete, all of which can be
// stopped and killed wherever a test wants.
#pragma once

#include <map>
#include <mutex>
#include <thread>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {

// The running transactional_service.
class ServiceProcess {
 public:
  // Something it said.
  struct Word {
    std::string point;
    std::string key;
    std::string fence;
    pid_t pid = 0;
  };

  explicit ServiceProcess(std::string database_url);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // SIGKILL to all its processes, stopped ones too.
  void kill_hard();
  void start();  // on the port it had

  // How often it said that about this key.
  [[nodiscard]] std::size_t count(const std::string& point, const std::string& key) const;
  bool says(const std::string& point, const std::string& key, std::size_t times = 1) const;
  // Waits until a request has stopped at this point for the n-th time; 0: it did not.
  [[nodiscard]] pid_t stopped_at(const std::string& point, const std::string& key,
                                 std::size_t time = 1) const;
  // Everyone who is stopped at the moment.
  [[nodiscard]] std::vector<pid_t> stopped() const;
  static void resume(pid_t pid);
  static void kill_one(pid_t pid);

 private:
  // Keeps the pipe from filling up. What the service said before it answered is in the pipe when
  // the answer is here, so words() drains it too: nobody has to wait for this thread's turn.
  void listen();
  bool drain() const;  // under the mutex; false: the pipe's end
  [[nodiscard]] std::vector<Word> words() const;

  const std::string database_url_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  int said_ = -1;             // the pipe, not blocking
  mutable std::string rest_;  // a line that has not ended
  mutable std::vector<Word> words_;
  std::thread reader_;
};

class TransactionalTest : public GatewayTest {
 protected:
  TransactionalTest();

  // A node with transactional routes, a lease of a second and a sweeper as often.
  ServeProcess& node(const std::string& more_policy = "", const std::string& more_top = "");

  // A key of its own for each call.
  std::string new_key();
  static Post payment_of(const std::string& key, const WireHeaders& more = {});
  // Posts, notes what the client was told, and returns it. Not even a status line: status 0.
  HttpAnswer tell(const ServeProcess& gateway, const Post& sent);
  void note(const std::string& key, const HttpAnswer& answer);
  // Repeats until a 201 is there, as a client would.
  bool retry_until_paid(const ServeProcess& gateway, const std::string& key);

  std::string query(const std::string& sql) const;
  [[nodiscard]] int rows(const std::string& key) const;
  [[nodiscard]] std::string stored(const std::string& key) const;
  // One business row, one stored answer, which is that row's, and everyone who was told of an
  // outcome was told this one.
  void expect_paid_once(const std::string& key);

  ServiceProcess service;

 private:
  int keys_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::vector<HttpAnswer>> told_;
};

}  // namespace pawl::e2e
