// The command line: commands with their flags, positional values and help. CLI11 does the work; it
// is compiled once, in command_line.cpp, and no other file of the program sees it: it costs ten
// seconds of compiling wherever it is included.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cmd {

// One flag or positional value of a command.
class Option {
 public:
  virtual ~Option() = default;
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  virtual Option* required() = 0;
  virtual Option* excludes(Option* other) = 0;
  virtual Option* needs(Option* other) = 0;
  virtual Option* positive() = 0;                   // a number above 0
  virtual Option* show_default() = 0;               // the value it has before parsing, in the help
  virtual Option* values(int least, int most) = 0;  // how many it takes
  virtual Option* one_at_a_time() = 0;              // a list, with one value behind each flag

 protected:
  Option() = default;
};

// A command, or the program itself. What it hands out lives as long as it does; so must the
// variables that values are written into.
class Command {
 public:
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // `names`: "--flag", or "NAME" for a positional value.
  virtual Option* add_flag(const std::string& names, bool& into, const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, std::string& into,
                             const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, std::optional<std::string>& into,
                             const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, std::vector<std::string>& into,
                             const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, int& into, const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, std::int64_t& into,
                             const std::string& help) = 0;
  virtual Option* add_option(const std::string& names, std::size_t& into,
                             const std::string& help) = 0;

  virtual Command* add_subcommand(const std::string& name, const std::string& help) = 0;
  virtual void require_subcommand() = 0;
  virtual void footer(const std::string& text) = 0;  // examples and exit codes
  virtual void callback(std::function<void()> run) = 0;

 protected:
  Command() = default;
};

// The whole program's.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();

  Command& root();
  // Reads the words and runs the command they name. Otherwise help, version, or what is wrong with
  // them (and the nearest name) was printed: the exit code.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  class Root;
  std::unique_ptr<Root> root_;
};

}  // namespace pawl::cmd
