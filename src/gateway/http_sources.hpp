// Sources that are asked over HTTP, as the configuration names them.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "src/adapters/http/upstream_call.hpp"
#include "src/gateway/gateway.hpp"
#include "src/workers/sources.hpp"

namespace pawl::gateway {

// One [[source]]: a GET, and what its answer means by its rules. The source outlives it.
class HttpSource final : public Source {
 public:
  HttpSource(const config::Source& source, http::Deadlines& deadlines);
  Task<SourceReply> ask(SourceQuestion question, BootTime deadline) override;
  void prune() { pool_.prune(); }

 private:
  // What to ask for, or why it cannot be asked.
  [[nodiscard]] Expected<std::string, SourceFailed> target_for(
      const SourceQuestion& question) const;

  const config::Source& source_;
  http::UpstreamPool pool_;
};

// Of one thread: that of `deadlines`. They are those of the configuration in force; one that is
// being asked stays until it has answered.
class HttpSources final : public workers::SourceDirectory {
 public:
  HttpSources(const NodeServices& shared, http::Deadlines& deadlines);

  [[nodiscard]] workers::SharedSource source_of(const Record& record) const override;
  [[nodiscard]] bool speaks_for(const std::string& source, const Scope& scope) const override;
  [[nodiscard]] SettleOptions settle_options(const Record& record) const override;

  // Null: there is none of that name.
  [[nodiscard]] workers::SharedSource named(const std::string& name) const;
  // Lets go of connections that have been idle for long.
  void prune();

 private:
  // Those of one reading of the configuration.
  struct Reading {
    SharedConfig made_of;
    std::list<HttpSource> sources;
    std::map<std::string, workers::SourceSettings> settings;  // by name
  };
  [[nodiscard]] std::shared_ptr<Reading> read(SharedConfig served) const;
  [[nodiscard]] const std::shared_ptr<Reading>& current() const;

  const NodeServices& shared_;
  http::Deadlines& deadlines_;
  mutable std::shared_ptr<Reading> current_;
};

}  // namespace pawl::gateway
