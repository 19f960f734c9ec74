#include "src/libpawl/heard.hpp"

#include <gtest/gtest.h>

namespace pawl::detail {
namespace {

struct Case {
  int status;
  Heard at_first;
  Heard resent;
};

Outcome answered(int status, Headers headers = {}) {
  return Answered{Response{status, std::move(headers), ""}};
}

TEST(HeardTest, WhatIsNotDecidedYetIsNoAnswer) {
  const std::vector<Case> cases{
      {201, Heard::answer, Heard::answer},       {303, Heard::answer, Heard::answer},
      {400, Heard::answer, Heard::doubt},        {401, Heard::answer, Heard::undecided},
      {402, Heard::answer, Heard::answer},       {403, Heard::answer, Heard::undecided},
      {404, Heard::answer, Heard::doubt},        {407, Heard::answer, Heard::undecided},
      {408, Heard::undecided, Heard::undecided}, {409, Heard::undecided, Heard::undecided},
      {410, Heard::answer, Heard::doubt},        {422, Heard::answer, Heard::doubt},
      {425, Heard::undecided, Heard::undecided}, {429, Heard::nothing, Heard::nothing},
      {500, Heard::undecided, Heard::undecided}, {502, Heard::undecided, Heard::undecided},
      {503, Heard::undecided, Heard::undecided}, {600, Heard::undecided, Heard::undecided},
  };
  for (const Case& one : cases) {
    const Outcome outcome = answered(one.status);
    EXPECT_EQ(heard(outcome, {}, {}, false), one.at_first) << one.status;
    EXPECT_EQ(heard(outcome, {}, {}, true), one.resent) << one.status;
  }
  EXPECT_EQ(heard(NotSent{}, {}, {}, true), Heard::nothing);
  EXPECT_EQ(heard(Lost{}, {}, {}, true), Heard::undecided);
}

TEST(HeardTest, TheRoutesRuleForServerErrorsIsNotForWhatStandsBeforeTheServer) {
  StoredPolicy policy;
  policy.on_server_error = OnServerError::store;
  EXPECT_EQ(heard(answered(500), {}, policy, false), Heard::answer);
  for (const int status : {502, 503, 504}) {
    EXPECT_EQ(heard(answered(status), {}, policy, false), Heard::undecided) << status;
  }
}

TEST(HeardTest, AReplayAnswersForTheFirstSending) {
  for (const int status : {400, 404, 409, 422}) {
    EXPECT_EQ(heard(answered(status, {{"Idempotent-Replayed", "true"}}), {}, {}, true),
              Heard::answer)
        << status;
  }
}

TEST(HeardTest, ADestinationMayKnowBetter) {
  Destination destination;
  destination.final_statuses = {409, 504};
  EXPECT_EQ(heard(answered(409), destination, {}, true), Heard::answer);
  EXPECT_EQ(heard(answered(504), destination, {}, true), Heard::answer);
  EXPECT_EQ(heard(answered(408), destination, {}, true), Heard::undecided);
  EXPECT_EQ(heard(Answered{Response{422, {}, ""}, true}, {}, {}, true), Heard::answer);
}

TEST(HeardTest, ARefusalIsByThePolicy) {
  StoredPolicy policy;
  const Outcome busy = answered(503, {{"Retry-After", "1"}});
  EXPECT_EQ(heard(busy, {}, policy, false), Heard::nothing);
  policy.on_refusal = OnRefusal::hold;
  EXPECT_EQ(heard(busy, {}, policy, false), Heard::undecided);
}

}  // namespace
}  // namespace pawl::detail
