#include "cmd/pawl/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cmd/pawl/command.hpp"
#include "src/core/nearest.hpp"

namespace pawl::cmd {
namespace {

class CliOption final : public Option {
 public:
  explicit CliOption(CLI::Option* option) : option_(option) {}

  Option* required() override { return with(option_->required()); }
  Option* excludes(Option* other) override { return with(option_->excludes(in(other))); }
  Option* needs(Option* other) override { return with(option_->needs(in(other))); }
  Option* positive() override { return with(option_->check(CLI::PositiveNumber)); }
  Option* show_default() override { return with(option_->capture_default_str()); }
  Option* values(int least, int most) override { return with(option_->expected(least, most)); }
  Option* one_at_a_time() override { return with(option_->allow_extra_args(false)); }

 private:
  static CLI::Option* in(Option* other) { return dynamic_cast<CliOption&>(*other).option_; }
  Option* with(CLI::Option* option) {
    option_ = option;
    return this;
  }

  CLI::Option* option_;
};

class CliCommand final : public Command {
 public:
  explicit CliCommand(CLI::App& app) : app_(app) {}

  Option* add_flag(const std::string& names, bool& into, const std::string& help) override {
    return keep(app_.add_flag(names, into, help));
  }
  Option* add_option(const std::string& names, std::string& into,
                     const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }
  Option* add_option(const std::string& names, std::optional<std::string>& into,
                     const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }
  Option* add_option(const std::string& names, std::vector<std::string>& into,
                     const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }
  Option* add_option(const std::string& names, int& into, const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }
  Option* add_option(const std::string& names, std::int64_t& into,
                     const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }
  Option* add_option(const std::string& names, std::size_t& into,
                     const std::string& help) override {
    return keep(app_.add_option(names, into, help));
  }

  Command* add_subcommand(const std::string& name, const std::string& help) override {
    commands_.push_back(std::make_unique<CliCommand>(*app_.add_subcommand(name, help)));
    return commands_.back().get();
  }
  void require_subcommand() override { app_.require_subcommand(1); }
  void footer(const std::string& text) override { app_.footer(text); }
  void callback(std::function<void()> run) override { app_.callback(std::move(run)); }

 private:
  Option* keep(CLI::Option* option) {
    options_.push_back(std::make_unique<CliOption>(option));
    return options_.back().get();
  }

  CLI::App& app_;
  std::vector<std::unique_ptr<CliOption>> options_;
  std::vector<std::unique_ptr<CliCommand>> commands_;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string meant(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest(word, views);
  return near.empty() ? "" : "Did you mean '" + std::string(near) + "'?\n";
}

const CLI::Option* flag_of(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(name)) return option;
  }
  return nullptr;
}

std::string near_flag(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return meant(word, names);
}

// "Did you mean 'serve'?" and a line's end: for the first word that is no command and no flag where
// it stands. Empty where nothing is near.
std::string nearest_name(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("-")) {
      const std::string name = words[i].substr(0, words[i].find('='));
      const CLI::Option* const flag = flag_of(*at, name);
      if (flag == nullptr) return near_flag(*at, name);
      const bool takes_next = flag->get_items_expected_max() > 0 && name.size() == words[i].size();
      if (takes_next) ++i;
      continue;
    }
    const std::vector<const CLI::App*> commands = commands_of(*at);
    if (commands.empty()) continue;  // a value of its own
    const auto found = std::ranges::find_if(
        commands, [&](const CLI::App* command) { return command->get_name() == words[i]; });
    if (found != commands.end()) {
      at = *found;
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return meant(words[i], names);
  }
  return {};
}

}  // namespace

class CommandLine::Root {
 public:
  Root(const std::string& name, const std::string& description) : app(description, name) {}

  CLI::App app;
  CliCommand command{app};
};

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : root_(std::make_unique<Root>(name, description)) {
  root_->app.set_version_flag("--version", version);
  root_->app.get_formatter()->column_width(30);
}

CommandLine::~CommandLine() = default;

Command& CommandLine::root() { return root_->command; }

std::optional<int> CommandLine::parse(int argc, char** argv) {
  CLI::App& app = root_->app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return exit_ok;
    std::fputs(nearest_name(app, {argv + 1, argv + argc}).c_str(), stderr);
    return exit_usage;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return exit_usage;
  }
  return std::nullopt;
}

}  // namespace pawl::cmd
