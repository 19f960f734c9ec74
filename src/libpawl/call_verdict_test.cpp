#include "src/libpawl/call_verdict.hpp"

#include <gtest/gtest.h>

namespace pawl::detail {
namespace {

struct Case {
  int status;
  CallVerdict at_first;
  CallVerdict resent;
};

Outcome answered(int status, Headers headers = {}) {
  return Answered{Response{status, std::move(headers), ""}};
}

TEST(HeardTest, WhatIsNotDecidedYetIsNoAnswer) {
  const std::vector<Case> cases{
      {201, CallVerdict::answer, CallVerdict::answer},
      {303, CallVerdict::answer, CallVerdict::answer},
      {400, CallVerdict::answer, CallVerdict::doubt},
      {401, CallVerdict::answer, CallVerdict::undecided},
      {402, CallVerdict::answer, CallVerdict::answer},
      {403, CallVerdict::answer, CallVerdict::undecided},
      {404, CallVerdict::answer, CallVerdict::doubt},
      {407, CallVerdict::answer, CallVerdict::undecided},
      {408, CallVerdict::undecided, CallVerdict::undecided},
      {409, CallVerdict::undecided, CallVerdict::undecided},
      {410, CallVerdict::answer, CallVerdict::doubt},
      {422, CallVerdict::answer, CallVerdict::doubt},
      {425, CallVerdict::undecided, CallVerdict::undecided},
      {429, CallVerdict::nothing, CallVerdict::nothing},
      {500, CallVerdict::undecided, CallVerdict::undecided},
      {502, CallVerdict::undecided, CallVerdict::undecided},
      {503, CallVerdict::undecided, CallVerdict::undecided},
      {600, CallVerdict::undecided, CallVerdict::undecided},
  };
  for (const Case& one : cases) {
    const Outcome outcome = answered(one.status);
    EXPECT_EQ(heard(outcome, {}, {}, false), one.at_first) << one.status;
    EXPECT_EQ(heard(outcome, {}, {}, true), one.resent) << one.status;
  }
  EXPECT_EQ(heard(NotSent{}, {}, {}, true), CallVerdict::nothing);
  EXPECT_EQ(heard(Lost{}, {}, {}, true), CallVerdict::undecided);
}

TEST(HeardTest, TheRoutesRuleForServerErrorsIsNotForWhatStandsBeforeTheServer) {
  StoredPolicy policy;
  policy.on_server_error = OnServerError::store;
  EXPECT_EQ(heard(answered(500), {}, policy, false), CallVerdict::answer);
  for (const int status : {502, 503, 504}) {
    EXPECT_EQ(heard(answered(status), {}, policy, false), CallVerdict::undecided) << status;
  }
}

TEST(HeardTest, AReplayAnswersForTheFirstSending) {
  for (const int status : {400, 404, 409, 422}) {
    EXPECT_EQ(heard(answered(status, {{"Idempotent-Replayed", "true"}}), {}, {}, true),
              CallVerdict::answer)
        << status;
  }
}

TEST(HeardTest, ADestinationMayKnowBetter) {
  Destination destination;
  destination.final_statuses = {409, 504};
  EXPECT_EQ(heard(answered(409), destination, {}, true), CallVerdict::answer);
  EXPECT_EQ(heard(answered(504), destination, {}, true), CallVerdict::answer);
  EXPECT_EQ(heard(answered(408), destination, {}, true), CallVerdict::undecided);
  EXPECT_EQ(heard(Answered{Response{422, {}, ""}, true}, {}, {}, true), CallVerdict::answer);
}

TEST(HeardTest, ARefusalIsByThePolicy) {
  StoredPolicy policy;
  const Outcome busy = answered(503, {{"Retry-After", "1"}});
  EXPECT_EQ(heard(busy, {}, policy, false), CallVerdict::nothing);
  policy.on_refusal = OnRefusal::hold;
  EXPECT_EQ(heard(busy, {}, policy, false), CallVerdict::undecided);
}

}  // namespace
}  // namespace pawl::detail
