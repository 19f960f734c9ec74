#include "tests/e2e/transactional_fixture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

// In /proc/PID/stat: "PID (name) STATE ...".
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 'X';
  return line.at(line.rfind(')') + 2);
}

}  // namespace

ServiceProcess::ServiceProcess(std::string database_url) : database_url_(std::move(database_url)) {
  start();
}

ServiceProcess::~ServiceProcess() { kill_hard(); }

void ServiceProcess::start() {
  std::array<int, 2> out{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  const std::string port = std::to_string(port_);
  const std::array<const char*, 4> arguments{PAWL_SERVICE, database_url_.c_str(), port.c_str(),
                                             nullptr};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {  // only what may follow fork() in a program with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent || ::setpgid(0, 0) != 0) ::_exit(126);
    ::dup2(out[1], STDOUT_FILENO);
    ::execv(arguments[0], const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);  // whoever is first: nobody may signal the group before it exists
  ::close(out[1]);
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  said_ = out[0];
  reader_ = std::thread([this] { listen(); });
  std::size_t ready = 0;
  const bool listens = until([&] {
    ready = 0;
    for (const Word& word : words()) {
      if (word.point != "listening") continue;
      ++ready;
      port_ = static_cast<std::uint16_t>(std::stoi(word.key));
    }
    return ready == 1;
  });
  if (!listens) throw std::runtime_error("the service did not get ready");
}

void ServiceProcess::kill_hard() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  reader_.join();  // the pipe's end: all of them are gone
  const std::lock_guard lock(mutex_);
  ::close(std::exchange(said_, -1));
  std::erase_if(words_, [](const Word& word) { return word.point == "listening"; });
}

void ServiceProcess::listen() {
  pollfd said{.fd = said_, .events = POLLIN, .revents = 0};
  while (true) {
    ::poll(&said, 1, -1);
    const std::lock_guard lock(mutex_);
    if (!drain()) return;
  }
}

bool ServiceProcess::drain() const {
  std::array<char, 4096> some{};
  ssize_t got = 0;
  while ((got = ::read(said_, some.data(), some.size())) > 0) {
    rest_.append(some.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;
         rest_.erase(0, end + 1)) {
      std::istringstream line(rest_.substr(0, end));
      Word word;
      line >> word.point >> word.key >> word.fence >> word.pid;
      words_.push_back(std::move(word));
    }
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

std::vector<ServiceProcess::Word> ServiceProcess::words() const {
  const std::lock_guard lock(mutex_);
  if (said_ >= 0) drain();
  return words_;
}

std::size_t ServiceProcess::count(const std::string& point, const std::string& key) const {
  std::size_t found = 0;
  for (const Word& word : words()) {
    if (word.point == point && word.key == key) ++found;
  }
  return found;
}

bool ServiceProcess::says(const std::string& point, const std::string& key,
                          std::size_t times) const {
  return until([&] { return count(point, key) >= times; });
}

pid_t ServiceProcess::stopped_at(const std::string& point, const std::string& key,
                                 std::size_t time) const {
  if (!says(point, key, time)) return 0;
  pid_t pid = 0;
  for (const Word& word : words()) {
    if (word.point == point && word.key == key && time-- == 1) pid = word.pid;
  }
  return until([&] { return state_of(pid) == 'T'; }) ? pid : 0;
}

std::vector<pid_t> ServiceProcess::stopped() const {
  std::vector<pid_t> pids;
  for (const Word& word : words()) {
    // The group: a process id may be somebody else's by now.
    const bool ours = word.pid != 0 && ::getpgid(word.pid) == pid_;
    if (ours && state_of(word.pid) == 'T') pids.push_back(word.pid);
  }
  return pids;
}

void ServiceProcess::resume(pid_t pid) {
  if (pid > 0) ::kill(pid, SIGCONT);
}

void ServiceProcess::kill_one(pid_t pid) {
  if (pid > 0) ::kill(pid, SIGKILL);
}

namespace {

constexpr const char* service_role = "shop";

// With the rights that `pawl migrate` gives a service, and none beyond them.
std::string service_url(const std::string& database) {
  static const std::string created =
      shared_postgres().query(std::string("CREATE ROLE ") + service_role + " LOGIN NOSUPERUSER");
  const testing::Finished granted =
      testing::run_program({PAWL_BINARY, "migrate", "--store", shared_postgres().url(database),
                            "--grants", std::string("service=") + service_role, "--apply"});
  if (granted.exit_code != 0) throw std::runtime_error("pawl migrate --grants: " + granted.err);
  return "host=" + shared_postgres().directory() +
         " port=" + std::to_string(shared_postgres().port()) + " user=" + service_role +
         " dbname=" + database;
}

}  // namespace

TransactionalTest::TransactionalTest()
    : GatewayTest(StoreKind::postgres), service(service_url(database())) {
  query(
      "CREATE TABLE payments (id bigserial PRIMARY KEY, key text NOT NULL, fence bigint NOT NULL)");
  query(std::string("GRANT ALL ON payments, payments_id_seq TO ") + service_role);
}

ServeProcess& TransactionalTest::node(const std::string& more_policy, const std::string& more_top) {
  const std::string sweep = more_top.empty() ? "sweep_interval = \"1s\"" : more_top;
  return start({.policy = "transactional = true\nlease = \"1s\"\n" + more_policy,
                .top = sweep,
                .rest = "",
                .upstream = service.url()});
}

std::string TransactionalTest::new_key() { return "payment-key-" + std::to_string(1000 + ++keys_); }

Post TransactionalTest::payment_of(const std::string& key, const WireHeaders& more) {
  Post made{.key = key};
  made.headers.insert(made.headers.end(), more.begin(), more.end());
  return made;
}

void TransactionalTest::note(const std::string& key, const HttpAnswer& answer) {
  const std::lock_guard lock(mutex_);
  told_[key].push_back(answer);
}

HttpAnswer TransactionalTest::tell(const ServeProcess& gateway, const Post& sent) {
  HttpAnswer answer;
  try {
    answer = post(gateway.port(), sent);
  } catch (const testing::WireError&) {
    answer.status = 0;  // nobody there, or killed before it could answer
  }
  note(sent.key, answer);
  return answer;
}

bool TransactionalTest::retry_until_paid(const ServeProcess& gateway, const std::string& key) {
  return until([&] { return tell(gateway, payment_of(key)).status == 201; });
}

std::string TransactionalTest::query(const std::string& sql) const {
  return shared_postgres().query(sql, database());
}

int TransactionalTest::rows(const std::string& key) const {
  return std::stoi(query("SELECT count(*) FROM payments WHERE key = '" + key + "'"));
}

std::string TransactionalTest::stored(const std::string& key) const {
  return query("SELECT convert_from(response_body, 'UTF8') FROM pawl.lookup('caller:default', '" +
               key + "') WHERE status = 'completed' AND response_code = 201");
}

void TransactionalTest::expect_paid_once(const std::string& key) {
  EXPECT_EQ(rows(key), 1) << key;
  const std::string of_the_row = query(
      "SELECT format('{\"payment\":%s,\"fence\":%s}', id, fence) FROM payments WHERE key = '" +
      key + "'");
  EXPECT_EQ(stored(key), of_the_row) << key;
  const std::lock_guard lock(mutex_);
  for (const HttpAnswer& answer : told_[key]) {
    if (answer.status == 201) {
      EXPECT_EQ(answer.body, of_the_row) << key;
    } else {
      // Anything else must have asked for a retry: nobody was told a final answer that is none.
      const bool passing = answer.status == 0 || answer.status >= 500 ||
                           problem_of(answer) == "in-flight" ||
                           problem_of(answer) == "outcome-unknown";
      EXPECT_TRUE(passing) << key << ": " << answer.head << answer.body;
    }
  }
}

}  // namespace pawl::e2e
