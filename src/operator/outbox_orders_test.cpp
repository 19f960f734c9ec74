#include "src/operator/outbox_orders.hpp"

#include <gmock/gmock.h>

#include "src/operator/outbox_document.hpp"
#include "src/operator/ports_for_tests.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::OperatorWorld;

std::string put(OperatorWorld& world, OutboxStatus status) {
  OutboxRow row;
  row.id = "row-1";
  row.scope = Scope{"tenant-a"};
  row.key = Key{"test-key-00000001"};
  row.destination = "provider";
  row.headers = {{"Authorization", "secret-token"}};
  row.body = "secret-body";
  row.status = status;
  world.outbox.enqueue(row);
  return world.outbox.rows().front().id;
}

OrRefusal<OutboxMessage> order(OperatorWorld& world, const std::string& id, OutboxAction action) {
  OutboxChange change;
  change.id = id;
  change.order.action = action;
  change.by = testing::an_operator();
  return testing::run(change_outbox(world.store, world.outbox, change));
}

TEST(OutboxOrders, ARowIsListedAndShownWithoutItsSecrets) {
  OperatorWorld world;
  const std::string id = put(world, OutboxStatus::pending);
  const auto listing = testing::run(list_outbox(world.store, world.outbox, OutboxQuery()));
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->rows.size(), 1U);
  EXPECT_EQ(listing->now, world.clock.wall());
  const auto message = testing::run(show_outbox(world.store, world.outbox, id));
  ASSERT_TRUE(message);
  for (const std::string& text :
       {outbox_row(message->row, message->now), outbox_row_json(message->row),
        outbox_list(listing->rows, listing->now), outbox_list_json(listing->rows)}) {
    EXPECT_THAT(text, HasSubstr(id));
    EXPECT_THAT(text, Not(HasSubstr("secret")));
  }
  const auto missing = testing::run(show_outbox(world.store, world.outbox, "no-such-row"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(),
            (Refusal{Refusal::Kind::refused, "there is no outbox row no-such-row"}));
}

TEST(OutboxOrders, WhatIsDiscardedIsDiscardedOnceWithAReason) {
  OperatorWorld world;
  const std::string id = put(world, OutboxStatus::pending);
  const auto discarded = order(world, id, OutboxAction::discard);
  ASSERT_TRUE(discarded) << discarded.error().sentence;
  EXPECT_TRUE(discarded->row.discarded_at);
  ASSERT_EQ(world.outbox.audit().size(), 1U);
  EXPECT_EQ(world.outbox.audit().front().author.actor, "alice@host");
  EXPECT_EQ(world.outbox.audit().front().author.reason, "it is in their books");
  const auto again = order(world, id, OutboxAction::discard);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Refusal::Kind::refused);
  EXPECT_THAT(again.error().sentence, HasSubstr(id + ": "));
  EXPECT_EQ(world.outbox.audit().size(), 1U);
}

TEST(OutboxOrders, ARowThatIsNotThereIsNotChanged) {
  OperatorWorld world;
  const auto missing = order(world, "no-such-row", OutboxAction::discard);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(),
            (Refusal{Refusal::Kind::refused, "there is no outbox row no-such-row"}));
  EXPECT_TRUE(world.outbox.audit().empty());
}

TEST(OutboxOrders, ABlankReasonChangesNothing) {
  OperatorWorld world;
  OutboxChange change;
  change.id = put(world, OutboxStatus::pending);
  change.order.action = OutboxAction::discard;
  change.by = {"alice@host", " \t"};
  const auto refused = testing::run(change_outbox(world.store, world.outbox, change));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Refusal{Refusal::Kind::malformed,
                                      "--reason is empty; say why, for readers of the audit"}));
  EXPECT_TRUE(world.outbox.audit().empty());
}

TEST(OutboxOrders, StatusesHaveNames) {
  EXPECT_EQ(*outbox_status_named("dead"), OutboxStatus::dead);
  EXPECT_THAT(outbox_status_named("lost").error().sentence, HasSubstr("--status is \"lost\""));
}

}  // namespace
}  // namespace pawl
