// A running `pawl serve`, on ports of its own choice. It dies with the test process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pawl::testing {

// A folder that goes when its owner goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ServeOptions {
  std::vector<std::string> flags;  // after `serve`; both listeners are set to port 0 already
  std::string config;              // TOML; without any, no --config is given
  bool worker = false;             // `pawl worker`: no public listener
  std::uint16_t port = 0;          // of the public listener; 0: any
  std::string socket = {};         // a path: the public listener is this Unix socket instead
  std::string admin_socket = {};   // the same of the admin listener
};

class ServeProcess {
 public:
  // Starts the binary and waits until both listeners are ready. Throws std::runtime_error with
  // what it said on stderr if it ends before. Call it from a thread that lives as long as this.
  ServeProcess(const std::string& binary, const ServeOptions& options);
  ~ServeProcess();
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t admin_port() const { return admin_port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  void kill_hard();  // SIGKILL, and waits for its end
  void stop();       // SIGSTOP, and waits until it has stopped
  void resume();
  // Another configuration, in one step; read again at SIGHUP. It was started with one.
  void rewrite_config(const std::string& config);
  void ask_to_reload();
  void ask_to_end();                                                   // SIGTERM
  int wait(std::chrono::seconds patience = std::chrono::seconds(60));  // 128 + signal if killed
  int terminate() {
    ask_to_end();
    return wait();
  }

  // What it has written so far; `wait_for_text` blocks until it is there, in either of the two.
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  bool wait_for_text(const std::string& text) const;

  // As a collector of logs that is stuck, or gone. What a reader was waiting for is still taken.
  void stop_reading() { set_reading(Reading::stopped); }
  void read_on() { set_reading(Reading::going_on); }
  void close_streams() { set_reading(Reading::over); }

 private:
  enum class Reading { going_on, stopped, over };
  void set_reading(Reading reading);
  void launch(const std::string& binary, const std::vector<std::string>& flags);
  void read_all(int descriptor, std::string& into);
  bool read_ports();

  TemporaryFolder folder_;
  bool has_port_ = true;
  bool has_admin_port_ = true;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::string out_;
  std::string err_;
  int streams_open_ = 0;
  Reading reading_ = Reading::going_on;
  std::vector<std::thread> readers_;
};

}  // namespace pawl::testing
