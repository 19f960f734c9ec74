// What a Flow is a handle of: its phases, and the passes over them.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "pawl/flow.hpp"
#include "src/core/recovery_point.hpp"
#include "src/libpawl/admission.hpp"

namespace pawl::detail {

struct Phase {
  std::string name;
  Flow::Local local;  // a local phase has this and nothing below it
  Destination destination;
  Flow::MakeCall call;
  Flow::RecordAnswer record;

  [[nodiscard]] bool foreign() const { return !local; }
};

class FlowCore {
 public:
  FlowCore(Node node, FlowOptions options);

  void add(Phase phase);
  Response handle(std::string_view caller, const HttpRequest& request);
  CompletionReport complete_abandoned(const std::function<bool()>& stop);

  [[nodiscard]] NodeCore& node() const { return *node_.core(); }
  [[nodiscard]] const RouteRules& rules() const { return rules_; }
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  // The phase at which a record of this flow goes on; nothing where this version has none.
  [[nodiscard]] std::optional<RecoveryPoint> point_of(const Record& record) const;
  [[nodiscard]] const Phase* find(std::string_view name) const;
  // For the log and the record: which point is not known, and which ones are.
  [[nodiscard]] std::string unknown_point(const Record& record) const;

 private:
  std::vector<Record> workable(CompletionReport& report);
  void complete_one(const Record& abandoned, CompletionReport& report);
  void refuse_loudly(const Record& record);

  Node node_;
  RouteRules rules_;
  std::vector<Phase> phases_;
  std::mutex mutex_;
  std::set<std::string> refused_;  // under mutex_: what the log has heard of already
};

}  // namespace pawl::detail
