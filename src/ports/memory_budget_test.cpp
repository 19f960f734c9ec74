#include "src/ports/memory_budget.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pawl {
namespace {

TEST(MemoryBudget, ChargesAsAWholeOrNotAtAll) {
  MemoryBudget budget(1000);
  Charge first(&budget);
  EXPECT_TRUE(first.resize(600, MemoryUse::admitted));
  Charge second(&budget);
  EXPECT_FALSE(second.resize(401, MemoryUse::admitted));
  EXPECT_EQ(second.bytes(), 0U);
  EXPECT_EQ(budget.used(), 600U);
  EXPECT_TRUE(second.resize(400, MemoryUse::admitted));
  EXPECT_EQ(budget.used(), 1000U);
  EXPECT_FALSE(first.resize(601, MemoryUse::admitted));
  EXPECT_EQ(first.bytes(), 600U);
  EXPECT_TRUE(first.resize(10, MemoryUse::admitted));
  EXPECT_EQ(budget.used(), 410U);
}

TEST(MemoryBudget, NewWorkLeavesAQuarterToWhatWasAdmitted) {
  MemoryBudget budget(1000);
  Charge fresh(&budget);
  EXPECT_FALSE(fresh.resize(751, MemoryUse::new_work));
  EXPECT_TRUE(fresh.resize(750, MemoryUse::new_work));
  Charge answer(&budget);
  EXPECT_TRUE(answer.resize(200, MemoryUse::admitted));
  // Over its share already: no new work, however little, and less is always possible.
  EXPECT_FALSE(fresh.resize(751, MemoryUse::new_work));
  EXPECT_TRUE(fresh.resize(749, MemoryUse::new_work));
}

TEST(MemoryBudget, AChargeIsGivenBackOnceWhoeverHoldsItLast) {
  MemoryBudget budget(1000);
  {
    Charge charge(&budget);
    EXPECT_TRUE(charge.resize(100, MemoryUse::new_work));
    Charge moved(std::move(charge));
    EXPECT_EQ(budget.used(), 100U);
    Charge assigned(&budget);
    EXPECT_TRUE(assigned.resize(50, MemoryUse::new_work));
    assigned = std::move(moved);
    EXPECT_EQ(assigned.bytes(), 100U);
    EXPECT_EQ(budget.used(), 100U) << "what it was before is given back";
    Charge more(&budget);
    EXPECT_TRUE(more.resize(7, MemoryUse::new_work));
    assigned.absorb(std::move(more));
    EXPECT_EQ(assigned.bytes(), 107U);
    const Charge part = assigned.split(40);
    EXPECT_EQ(part.bytes(), 40U);
    EXPECT_EQ(assigned.bytes(), 67U);
    EXPECT_EQ(assigned.split(100).bytes(), 67U);
    EXPECT_EQ(budget.used(), 40U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, OfMoreThanThereIsNothingOverflows) {
  MemoryBudget budget(1000);
  Charge charge(&budget);
  EXPECT_TRUE(charge.resize(10, MemoryUse::new_work));
  Charge other(&budget);
  EXPECT_FALSE(other.resize(static_cast<std::size_t>(-1), MemoryUse::admitted));
  EXPECT_EQ(budget.used(), 10U);
}

TEST(MemoryBudget, WithoutOneNothingIsRefused) {
  Charge charge;
  EXPECT_TRUE(charge.resize(std::size_t{1} << 40, MemoryUse::new_work));
  EXPECT_TRUE(charge.resize(0, MemoryUse::new_work));
}

TEST(MemoryBudget, CoversButDoesNotShrink) {
  MemoryBudget budget(1000);
  Charge charge(&budget);
  EXPECT_TRUE(charge.cover(500, MemoryUse::new_work));
  EXPECT_TRUE(charge.cover(20, MemoryUse::new_work));
  EXPECT_EQ(charge.bytes(), 500U);
  EXPECT_FALSE(charge.cover(1001, MemoryUse::admitted));
}

// Threads that charge and let go at random: never over, and nothing is left.
TEST(MemoryBudget, IsNeverExceededByThreads) {
  constexpr std::size_t all = 1000;
  MemoryBudget budget(all);
  std::atomic<bool> exceeded = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t seed = 1; seed <= 4; ++seed) {
      threads.emplace_back([&, seed] {
        for (std::size_t round = 0; round < 20'000; ++round) {
          Charge charge(&budget);
          static_cast<void>(charge.resize((round * 7919 * seed) % 600, MemoryUse::admitted));
          if (budget.used() > all) exceeded = true;
        }
      });
    }
  }
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, WhatArrivesIsChargedInStepsOfAllAtMost) {
  constexpr std::size_t step = std::size_t{64} << 10;
  EXPECT_EQ(charged_for(0, 100), 0U);
  EXPECT_EQ(charged_for(1, 100), 100U);
  EXPECT_EQ(charged_for(1, 10 * step), step);
  EXPECT_EQ(charged_for(step, 10 * step), step);
  EXPECT_EQ(charged_for(step + 1, 10 * step), 2 * step);
  EXPECT_EQ(charged_for(10 * step, 10 * step), 10 * step);
  EXPECT_EQ(charged_for(11, 10), 11U);
}

}  // namespace
}  // namespace pawl
