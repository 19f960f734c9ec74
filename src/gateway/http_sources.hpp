// Sources that are asked over HTTP, as the configuration names them.
#pragma once

#include <list>
#include <map>
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

// Of one thread: that of `deadlines`.
class HttpSources final : public workers::SourceDirectory {
 public:
  HttpSources(const NodeServices& shared, http::Deadlines& deadlines);

  [[nodiscard]] const workers::SourceSettings* source_of(const Record& record) const override;
  [[nodiscard]] bool speaks_for(const std::string& source, const Scope& scope) const override;
  [[nodiscard]] SettleOptions settle_options(const Record& record) const override;

  // Null: there is none of that name.
  [[nodiscard]] const workers::SourceSettings* named(const std::string& name) const;
  // Lets go of connections that have been idle for long.
  void prune();

 private:
  const NodeServices& shared_;
  const SharedConfig made_of_;  // [[source]] does not change while the node runs
  std::list<HttpSource> sources_;
  std::map<std::string, workers::SourceSettings> settings_;  // by name
};

}  // namespace pawl::gateway
