#include "tests/support/postgres_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace pawl::testing {
namespace {

constexpr const char* binaries = "/usr/lib/postgresql/15/bin/";

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

struct ServerUser {
  uid_t user;
  gid_t group;
};

// PostgreSQL refuses to run as root.
ServerUser server_user() {
  if (geteuid() != 0) return {geteuid(), getegid()};
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr) throw std::runtime_error("no user `postgres` to run the server as");
  return {entry->pw_uid, entry->pw_gid};
}

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(probe);
  if (!bound) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

// Only what may follow fork() in a program with threads.
[[noreturn]] void become_server(const char* const* arguments, ServerUser user, int log) {
  if (geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(user.group) != 0 || ::setuid(user.user) != 0)) {
    ::_exit(126);
  }
  ::dup2(log, 1);
  ::dup2(log, 2);
  if (::chdir("/") != 0) ::_exit(126);
  // Its own group: Ctrl-C in the terminal is the test program's to handle, not the server's.
  ::setpgid(0, 0);
  ::execv(arguments[0], const_cast<char* const*>(arguments));
  ::_exit(127);
}

int open_log(const std::string& directory) {
  return ::open((directory + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

// The processes of a server: /proc/PID/stat reads "PID (name) state PARENT ...".
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    std::string state;
    pid_t its_parent = 0;
    if (rest >> state >> its_parent && its_parent == parent) {
      children.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    }
  }
  return children;
}

// A server that need not survive a crash need not touch a disk either.
std::filesystem::path place_for(const PostgresOptions& options) {
  const std::filesystem::path memory = "/dev/shm";
  const bool usable = !options.fsync && ::access(memory.c_str(), W_OK | X_OK) == 0;
  return usable ? memory : std::filesystem::temp_directory_path();
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

PostgresServer::PostgresServer(PostgresOptions options) {
  std::string pattern = place_for(options) / "pawl-pg-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  directory_ = pattern;
  const ServerUser user = server_user();
  if (::chmod(directory_.c_str(), 0755) != 0 ||
      ::chown(directory_.c_str(), user.user, user.group) != 0) {
    throw std::runtime_error("cannot hand over " + directory_);
  }
  watch();
  initialise(options);
  start();
}

PostgresServer::~PostgresServer() {
  if (postmaster_ > 0) {
    ::kill(postmaster_, SIGQUIT);
    ::waitpid(postmaster_, nullptr, 0);
  }
  ::close(lifeline_);  // the watchdog removes the directory
  ::waitpid(watchdog_, nullptr, 0);
}

// A shell that reads until this process is gone, then ends the server and cleans up.
void PostgresServer::watch() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  static constexpr const char* script =
      "trap '' INT TERM HUP; cat > /dev/null; pid=$(head -n 1 \"$0/data/postmaster.pid\" "
      "2>/dev/null);"
      "if [ -n \"$pid\" ]; then kill -QUIT \"$pid\" 2>/dev/null;"
      "  while kill -0 \"$pid\" 2>/dev/null; do sleep 0.05; done; fi; rm -rf \"$0\"";
  const std::array<const char*, 5> arguments{"/bin/sh", "-c", script, directory_.c_str(), nullptr};
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  watchdog_ = ::fork();
  if (watchdog_ == 0) {
    ::dup2(ends[0], 0);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::setpgid(0, 0);
    ::execv(arguments[0], const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  ::close(nowhere);
  ::close(ends[0]);
  lifeline_ = ends[1];
  if (watchdog_ < 0) throw std::runtime_error("fork failed");
}

int PostgresServer::run_as_server_user(const char* const* arguments) const {
  const ServerUser user = server_user();
  const int log = open_log(directory_);
  const pid_t child = ::fork();
  if (child == 0) become_server(arguments, user, log);
  ::close(log);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void PostgresServer::initialise(const PostgresOptions& options) {
  const std::string initdb = std::string(binaries) + "initdb";
  const std::string data = directory_ + "/data";
  const std::array<const char*, 12> arguments{initdb.c_str(), "-D",         data.c_str(), "-U",
                                              "postgres",     "-A",         "trust",      "-E",
                                              "UTF8",         "--locale=C", "--no-sync",  nullptr};
  if (run_as_server_user(arguments.data()) != 0) {
    throw std::runtime_error("initdb failed:\n" + read_text(directory_ + "/log"));
  }
  port_ = free_port();
  std::ofstream conf(data + "/postgresql.conf", std::ios::app);
  conf << "port = " << port_ << "\nlisten_addresses = '127.0.0.1'\n"
       << "unix_socket_directories = '" << directory_ << "'\n"
       << "fsync = " << (options.fsync ? "on" : "off") << "\nmax_connections = 200\n"
       << "shared_buffers = 64MB\nmax_wal_size = 4GB\nlog_min_messages = warning\n"
       << options.configuration << "\n";
}

void PostgresServer::start() {
  const std::string postgres = std::string(binaries) + "postgres";
  const std::string data = directory_ + "/data";
  const std::array<const char*, 4> arguments{postgres.c_str(), "-D", data.c_str(), nullptr};
  const ServerUser user = server_user();
  const int log = open_log(directory_);
  postmaster_ = ::fork();
  if (postmaster_ == 0) become_server(arguments.data(), user, log);
  ::close(log);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (PQping(url().c_str()) != PQPING_OK) {
    const bool gone = ::waitpid(postmaster_, nullptr, WNOHANG) == postmaster_;
    if (gone) postmaster_ = -1;
    if (gone || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("PostgreSQL did not start:\n" + read_text(directory_ + "/log"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void PostgresServer::stop() {
  if (postmaster_ < 0) return;
  ::kill(postmaster_, SIGINT);
  ::waitpid(postmaster_, nullptr, 0);
  postmaster_ = -1;
}

void PostgresServer::kill_hard() {
  if (postmaster_ < 0) return;
  const std::vector<pid_t> children = children_of(postmaster_);
  ::kill(postmaster_, SIGKILL);
  ::waitpid(postmaster_, nullptr, 0);
  postmaster_ = -1;
  for (const pid_t child : children) ::kill(child, SIGKILL);
  // A new server refuses to start while a process of the old one holds the shared memory.
  for (const pid_t child : children) {
    while (::kill(child, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string PostgresServer::url(const std::string& database) const {
  return "host=" + directory_ + " port=" + std::to_string(port_) +
         " user=postgres dbname=" + database;
}

std::string PostgresServer::tcp_url(const std::string& database) const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string PostgresServer::query(const std::string& sql, const std::string& database) {
  const Connection connection(PQconnectdb(url(database).c_str()), PQfinish);
  const Result result(PQexec(connection.get(), sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection.get()));
  }
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

void PostgresServer::create_database(const std::string& name, const std::string& from) {
  query("CREATE DATABASE " + name + " TEMPLATE " + from);
}

}  // namespace pawl::testing
